// Markdown to nodes, as far as chat pages go: headings, lists, code with a header of its own, tables, quotes.
import { faults, h } from "./parts.js";

const INLINE = / {2,}\n|(`+)([\s\S]*?[^`])\1(?!`)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|~~([^~]+)~~|\[([^\]]+)\]\(([^)\s]+)\)/;

function inline(words) {
  const found = INLINE.exec(words);
  if (!found) return words === "" ? [] : [words];
  const [all, , code, strong, em, del, label, href] = found;
  const node = code !== undefined ? h("code", {}, code.replace(/^ (.*) $/s, "$1"))
    : strong !== undefined ? h("strong", {}, inline(strong))
      : em !== undefined ? h("em", {}, inline(em))
        : del !== undefined ? h("del", {}, inline(del))
          : h("a", { href }, inline(label ?? ""));
  return [...inline(words.slice(0, found.index)), ...(all.startsWith("  ") ? [h("br"), "\n"] : [node]), ...inline(words.slice(found.index + all.length))];
}

function copyText(words) {
  return navigator.clipboard.writeText(words);
}

function code(language, lines, whole) {
  const words = lines.join("\n");
  const clip = whole && faults.clipped_block && lines.length > 4;
  const label = language === "" ? "Plain text" : language[0].toUpperCase() + language.slice(1);
  return h("div", { class: "code", "data-part": "code" },
    h("div", { class: "code-header" }, h("span", { "data-part": "language" }, label), h("button", { type: "button", onclick: () => copyText(words) }, "Copy code")),
    h("pre", { class: clip ? "clipped" : null, "data-part": clip ? "clipped" : null }, h("code", {}, clip ? lines.slice(0, 4).join("\n") : words)));
}

const ITEM = /^( *)([-*+]|\d+[.)]) +(.*)$/;

function list(lines) {
  const first = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length === first[1].length) items.push([item[3]]);
    else items.at(-1).push(line.slice(Math.min(line.search(/\S|$/), first[1].length + first[2].length + 1)));
  }
  const ordered = /\d/.test(first[2]);
  return h(ordered ? "ol" : "ul", { start: ordered && parseInt(first[2]) > 1 ? parseInt(first[2]) : null }, items.map((item) => {
    const task = /^\[([ x])\] (.*)$/.exec(item[0]);
    const nested = item.findIndex((line, at) => at > 0 && ITEM.test(line));
    const words = (nested < 0 ? item : item.slice(0, nested)).join("\n");
    return h("li", {}, task ? h("input", { type: "checkbox", disabled: true, checked: task[1] === "x" }) : null, inline(task ? words.slice(4) : words), nested < 0 ? null : list(item.slice(nested)));
  }));
}

function table(lines) {
  const cells = (line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const row = (line, tag) => h("tr", {}, cells(line).map((cell) => h(tag, {}, inline(cell))));
  return h("table", {}, h("thead", {}, row(lines[0], "th")), h("tbody", {}, lines.slice(2).map((line) => row(line, "td"))));
}

export function render(markdown, whole) {
  const out = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    const fence = /^(`{3,}|~{3,})\s*([\w+#-]*)/.exec(line);
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (line.trim() === "") at++;
    else if (fence) {
      let end = at + 1;
      while (end < lines.length && !lines[end].startsWith(fence[1])) end++;
      out.push(code(fence[2], lines.slice(at + 1, end), whole));
      at = end + 1;
    } else if (heading) {
      out.push(h(`h${heading[1].length}`, {}, inline(heading[2])));
      at++;
    } else if (/^(---|\*\*\*)$/.test(line)) {
      out.push(h("hr"));
      at++;
    } else {
      const belongs = ITEM.test(line) ? (next) => next.trim() !== "" : line.startsWith(">") ? (next) => next.startsWith(">") : line.startsWith("|") ? (next) => next.startsWith("|") : (next) => next.trim() !== "" && !/^(`{3,}|~{3,}|#{1,6} |> )/.test(next) && !ITEM.test(next);
      let end = at + 1;
      while (end < lines.length && belongs(lines[end])) end++;
      const part = lines.slice(at, end);
      if (ITEM.test(line)) out.push(list(part));
      else if (line.startsWith(">")) out.push(h("blockquote", {}, render(part.map((one) => one.replace(/^> ?/, "")).join("\n"), whole)));
      else if (line.startsWith("|") && part.length > 1) out.push(table(part));
      else out.push(h("p", {}, inline(part.join("\n"))));
      at = end;
    }
  }
  return out;
}
