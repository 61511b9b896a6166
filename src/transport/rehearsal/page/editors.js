// Three composers, each with the manners of an editor that real pages use. The model decides what is sent, never the DOM alone.
import { h, script } from "./parts.js";

const BREAK = "\n";

// A framework's text field: it hears of a change by an event and puts its own value back at every turn.
function textarea(changed, enter) {
  const field = h("textarea", { "data-part": "composer", rows: "2", "aria-label": "Message" });
  let value = "";
  field.addEventListener("input", () => {
    value = field.value;
    changed();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    enter();
  });
  setInterval(() => {
    if (field.value !== value) field.value = value;
  }, 50);
  const set = (words) => {
    value = words;
    field.value = words;
    changed();
  };
  return { element: field, text: () => value, set };
}

function paragraph(words) {
  return h("p", {}, words === "" ? h("br") : words);
}

function linesOf(element) {
  const lines = [];
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) lines.push(...child.data.split(BREAK));
    else lines.push(...[...child.childNodes].map((one) => (one.nodeName === "BR" ? (one.nextSibling ? BREAK : "") : one.textContent)).join("").split(BREAK));
  }
  return lines.length === 0 ? [""] : lines;
}

function rich(className, pasted, changed, enter) {
  const field = h("div", { "data-part": "composer", class: `editor ${className}`, contenteditable: "true", role: "textbox", "aria-multiline": "true" }, paragraph(""));
  let lines = [""];
  const draw = () => {
    watcher.disconnect();
    field.replaceChildren(...lines.map(paragraph));
    watch();
    changed();
  };
  const watcher = new MutationObserver(() => {
    lines = linesOf(field);
    // An editor keeps its own shape: paragraphs and nothing else.
    if ([...field.childNodes].some((child) => child.nodeName !== "P") || field.childNodes.length === 0) draw();
    else changed();
  });
  const watch = () => watcher.observe(field, { childList: true, characterData: true, subtree: true });
  watch();
  field.addEventListener("paste", (event) => {
    event.preventDefault();
    // Everything that is selected is replaced; a caret anywhere else puts the text at the end.
    const all = getSelection().toString().length >= lines.join("").length;
    const words = pasted(event.clipboardData);
    lines = all ? words : [...lines.slice(0, -1), lines.at(-1) + words[0], ...words.slice(1)];
    draw();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    enter();
  });
  const set = (words) => {
    lines = words.split(BREAK);
    draw();
  };
  return { element: field, text: () => lines.join(BREAK), set };
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

// Keeps spaces only in HTML of its own making, and drops the empty lines of plain text.
function proseMirrorPaste(data) {
  const html = data.getData("text/html");
  if (html.includes("data-pm-slice")) return [...html.matchAll(/<p[^>]*>(.*?)<\/p>/gs)].map((one) => one[1].replace(/&(?:lt|gt|amp);/g, (name) => ENTITIES[name]));
  return data.getData("text/plain").split(BREAK).filter((line) => line !== "");
}

// Takes plain text as it is; HTML loses its indents.
function quillPaste(data) {
  const html = data.getData("text/html");
  const lines = data.getData("text/plain").split(BREAK);
  return html === "" ? lines : lines.map((line) => line.trim());
}

export function editor(changed, enter) {
  switch (script.editor) {
    case "textarea": return textarea(changed, enter);
    case "quill": return rich("ql-editor", quillPaste, changed, enter);
    default: return rich("ProseMirror", proseMirrorPaste, changed, enter);
  }
}
