// From an answer's nodes to markdown. It reads the page and changes nothing in it; what belongs to the page's own
// interface (labels, buttons, citations, hidden headings) is left out.

const LEFT_OUT = 'button, svg, style, script, template, select, textarea, noscript, [hidden], [role="button"], [role="tooltip"], .sr-only, .visually-hidden';
const BLOCK = "p, div, section, article, h1, h2, h3, h4, h5, h6, ul, ol, pre, blockquote, hr, table, figure, details, dl";
const LANGUAGES = { "plain text": "", plaintext: "", text: "", code: "", "code snippet": "", shell: "sh", "c++": "cpp", "c#": "csharp", "f#": "fsharp", "objective-c": "objectivec" };

function matches(element, name) {
  return selectors(name).some((css) => element.matches(css));
}

function isLeftOut(element) {
  if (element.matches(LEFT_OUT)) return true;
  if (matches(element, "exclude")) return true;
  return element.getAttribute("aria-hidden") === "true" && !element.closest(".katex");
}

function isBlock(element) {
  return matches(element, "code_block") || element.matches(BLOCK) || element.querySelector(BLOCK) !== null;
}

// As many backticks as the content needs.
function fence(content, least) {
  const longest = Math.max(0, ...[...content.matchAll(/`+/g)].map((run) => run[0].length));
  return "`".repeat(Math.max(least, longest + 1));
}

function codeText(element) {
  const lines = [...element.querySelectorAll(".cm-line")];
  if (lines.length > 0) return lines.map((one) => one.textContent).join("\n");
  let out = "";
  (function walk(node) {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) out += child.data;
      else if (child.nodeType !== Node.ELEMENT_NODE || child.matches("button, svg, style")) continue;
      else if (child.tagName === "BR") out += "\n";
      else {
        if (child.tagName === "DIV" && out !== "" && !out.endsWith("\n")) out += "\n";
        walk(child);
      }
    }
  })(element);
  return out.replace(/\n$/, "");
}

function language(block, code) {
  for (const one of [code, ...code.querySelectorAll("[class]"), code.closest("[data-language]"), block.querySelector("[data-language]"), code.closest("pre"), block]) {
    const named = one?.getAttribute("data-language") ?? /(?:^|\s)(?:language|lang)-([\w+#.-]+)/.exec(one?.getAttribute("class") ?? "")?.[1];
    if (named) return LANGUAGES[named.toLowerCase()] ?? named.toLowerCase();
  }
  for (const label of every("code_language", { within: block })) {
    if (label === block || label.contains(code)) continue;
    const words = document.createTreeWalker(label, NodeFilter.SHOW_TEXT, (node) => (node.parentElement.closest("button, [role='tooltip']") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
    while (words.nextNode()) {
      const named = line(words.currentNode.data).toLowerCase();
      if (named !== "") return LANGUAGES[named] ?? (/^[\w+#.-]{1,24}$/.test(named) ? named : "");
    }
  }
  return "";
}

function codeBlock(block) {
  const code = every("code_text", { within: block }).find((one) => one !== block) ?? block.querySelector("code") ?? block;
  const content = codeText(code);
  const ticks = fence(content, 3);
  return `${ticks}${language(block, code)}\n${content}\n${ticks}`;
}

function inlineCode(element) {
  const content = element.textContent.replace(/\s+/g, " ");
  const ticks = fence(content, 1);
  const room = content.startsWith("`") || content.endsWith("`") ? " " : "";
  return content === "" ? "" : `${ticks}${room}${content}${room}${ticks}`;
}

function wrapped(mark, content) {
  const inner = content.trim();
  if (inner === "") return content;
  return content.slice(0, content.indexOf(inner[0])) + mark + inner + mark + content.slice(content.trimEnd().length);
}

function inline(node) {
  if (node.nodeType === Node.TEXT_NODE) {
    // A line break of the source stays one: it shows as a space, but a patch without a fence needs it. Behind <br> it
    // shows as nothing, and a second one would begin a paragraph.
    const words = node.data.replace(/[ \t\r\f]*\n[ \t\r\f]*/g, "\n").replace(/[ \t\r\f]+/g, " ");
    return node.previousSibling?.nodeName === "BR" ? words.replace(/^\n/, "") : words;
  }
  if (node.nodeType !== Node.ELEMENT_NODE || isLeftOut(node)) return "";
  if (matches(node, "inline_code")) return inlineCode(node);
  const math = node.classList.contains("katex") ? node.querySelector("annotation") : null;
  if (math) return node.closest(".katex-display") ? `$$${math.textContent}$$` : `$${math.textContent}$`;
  const within = () => [...node.childNodes].map(inline).join("");
  switch (node.tagName) {
    case "CODE": return inlineCode(node);
    case "STRONG": case "B": return wrapped("**", within());
    case "EM": case "I": return wrapped("*", within());
    case "DEL": case "S": return wrapped("~~", within());
    case "BR": return "\n";
    case "IMG": return node.alt ? `![${node.alt}]` : "";
    case "INPUT": return node.type === "checkbox" ? (node.checked ? "[x] " : "[ ] ") : "";
    case "A": {
      const label = within();
      const href = node.getAttribute("href") ?? "";
      return href === "" || line(label) === "" || line(label) === href ? label : `[${line(label)}](${href})`;
    }
    default: return within();
  }
}

function paragraph(words) {
  const trimmed = words.split("\n").map((one) => one.trim()).join("\n").trim();
  // Text that looks like a fence would be taken for one.
  return trimmed.replace(/^(`{3,}|~{3,})/gm, "\\$1");
}

function indented(content, by) {
  return content.split("\n").map((one, at) => (at === 0 || one === "" ? one : by + one)).join("\n");
}

function list(element) {
  let number = Number(element.getAttribute("start") ?? 1);
  const items = [...element.children].filter((one) => one.tagName === "LI" && !isLeftOut(one)).map((item) => {
    const parts = blocks(item);
    const loose = parts.filter((part) => !part.list).length > 1;
    const mark = element.tagName === "OL" ? `${number++}. ` : "- ";
    const content = parts.map((part, at) => (at === 0 ? "" : loose || !part.list ? "\n\n" : "\n") + part.text).join("");
    return { loose, text: mark + indented(content, " ".repeat(mark.length)) };
  });
  return items.map((item) => item.text).join(items.some((item) => item.loose) ? "\n\n" : "\n");
}

function table(element) {
  const rows = [...element.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => line([...cell.childNodes].map(inline).join("")).replaceAll("|", "\\|")));
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map((row) => row.length));
  const draw = (row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? "").join(" | ")} |`;
  return [draw(rows[0]), `|${" --- |".repeat(width)}`, ...rows.slice(1).map(draw)].join("\n");
}

// The blocks below a node; text and inline elements between blocks are paragraphs of their own.
function blocks(node) {
  const out = [];
  let run = "";
  const flush = () => {
    const words = paragraph(run);
    run = "";
    if (words !== "") out.push({ text: words, list: false });
  };
  const put = (words, isList = false) => {
    flush();
    if (words !== "") out.push({ text: words, list: isList });
  };
  for (const child of node.childNodes) {
    if (child.nodeType === Node.ELEMENT_NODE && isLeftOut(child)) continue;
    if (child.nodeType !== Node.ELEMENT_NODE || !isBlock(child) || matches(child, "inline_code")) {
      run += inline(child);
    } else if (matches(child, "code_block") || child.tagName === "PRE") {
      put(codeBlock(child));
    } else if (/^H[1-6]$/.test(child.tagName)) {
      put(`${"#".repeat(Number(child.tagName[1]))} ${line([...child.childNodes].map(inline).join(""))}`);
    } else if (child.tagName === "UL" || child.tagName === "OL") {
      put(list(child), true);
    } else if (child.tagName === "BLOCKQUOTE") {
      put(joined(blocks(child)).split("\n").map((one) => `> ${one}`.trimEnd()).join("\n"));
    } else if (child.tagName === "HR") {
      put("---");
    } else if (child.tagName === "TABLE") {
      put(table(child));
    } else {
      flush();
      out.push(...blocks(child));
    }
  }
  flush();
  return out;
}

function joined(parts) {
  return parts.map((part) => part.text).join("\n\n");
}

function toMarkdown(element) {
  return joined(matches(element, "code_block") ? [{ text: codeBlock(element) }] : blocks(element)).toWellFormed();
}
