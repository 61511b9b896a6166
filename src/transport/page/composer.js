// The composer: what kind of editor it is, and what it holds, exactly.

function editorKind(element) {
  if (element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement) return "textarea";
  if (element.hasAttribute("data-lexical-editor") || element.__lexicalEditor) return "lexical";
  if (element.classList.contains("ql-editor")) return "quill";
  if (element.classList.contains("ProseMirror") || element.pmViewDesc) return "prosemirror";
  return "other";
}

const BLOCKS = new Set(["P", "DIV", "LI", "UL", "OL", "PRE", "BLOCKQUOTE", "H1", "H2", "H3", "H4", "H5", "H6"]);

// Blocks are lines; a break at the end of a block only keeps the block open.
function readEditor(element) {
  if ("value" in element) return element.value;
  let out = "";
  let fresh = true; // nothing has been put into the current line's block yet
  function walk(node) {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        out += child.data;
        fresh = false;
      } else if (child.nodeType !== Node.ELEMENT_NODE || child.getAttribute("contenteditable") === "false") {
        continue;
      } else if (child.tagName === "BR") {
        if (child.nextSibling === null || child.classList.contains("ProseMirror-trailingBreak")) continue;
        out += "\n";
        fresh = false;
      } else if (BLOCKS.has(child.tagName)) {
        if (!fresh) out += "\n";
        fresh = true;
        walk(child);
        fresh = false;
      } else {
        walk(child);
      }
    }
  }
  walk(element);
  return out.toWellFormed();
}

function firstDifference(one, other) {
  const end = Math.min(one.length, other.length);
  for (let at = 0; at < end; at++) if (one[at] !== other[at]) return at;
  return one.length === other.length ? null : end;
}

function selectAll(element) {
  element.focus();
  if ("select" in element) element.select();
  else getSelection().selectAllChildren(element);
}

function setValue(element, value) {
  const owner = element instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  Object.getOwnPropertyDescriptor(owner.prototype, "value").set.call(element, value);
  element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
}

// One paragraph for each line, made node by node.
function setParagraphs(element, value) {
  const lines = value.split("\n").map((words) => {
    const paragraph = document.createElement("p");
    paragraph.append(words === "" ? document.createElement("br") : words);
    return paragraph;
  });
  element.replaceChildren(...lines);
  element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
}

// Frameworks commit a moment after the event.
async function settlesAs(element, value) {
  return (await until(500, () => readEditor(first("composer", { visible: true }) ?? element) === value, 20)) === true;
}
