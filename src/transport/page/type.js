// One job: put the text into the composer by one method and tell whether it holds exactly that.
const composer = first("composer", { visible: true });
if (!composer) return { state: "no_composer" };
const started = performance.now();
const value = input.text;

function escapeHtml(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function paste(html) {
  const data = new DataTransfer();
  data.setData("text/plain", value);
  // The attribute is what makes ProseMirror keep spaces and tabs.
  if (html) data.setData("text/html", value.split("\n").map((words, at) => `<p${at === 0 ? ' data-pm-slice="1 1 []"' : ""}>${escapeHtml(words)}</p>`).join(""));
  composer.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, composed: true, clipboardData: data }));
}

if (input.method !== "check") {
  selectAll(composer);
  // Editors hear of a new selection a moment later.
  if (!("value" in composer)) await sleep(30);
}
switch (input.method) {
  case "value_setter": if ("value" in composer) setValue(composer, value); break;
  case "html_paste": paste(true); break;
  case "text_paste": paste(false); break;
  case "replace_children": if (!("value" in composer)) setParagraphs(composer, value); break;
  case "insert_text": document.execCommand("insertText", false, value); break;
  case "devtools": return { state: "selected", editor: editorKind(composer) }; // typed from outside, then checked
}
const exact = await settlesAs(composer, value);
const held = readEditor(first("composer", { visible: true }) ?? composer);
if (exact) kept.typed = value;
return { state: exact ? "exact" : "different", editor: editorKind(composer), length: held.length, at: exact ? null : firstDifference(held, value), ms: Math.round(performance.now() - started) };
