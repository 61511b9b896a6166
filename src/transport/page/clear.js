// One job: empty the composer of what an earlier visit left in it, text and attachments.
const composer = first("composer", { visible: true });
if (!composer) return { state: "no_composer" };
const draft = readEditor(composer);
for (let turn = 0; turn < 30; turn++) {
  const chips = every("chip", { visible: true });
  if (chips.length === 0) break;
  const remove = first("chip_remove", { visible: true });
  if (!remove) return { state: "attachments", count: chips.length };
  press(remove);
  await sleep(80);
}
if (every("chip", { visible: true }).length > 0) return { state: "attachments", count: every("chip", { visible: true }).length };
if (draft !== "") {
  if ("value" in composer) {
    setValue(composer, "");
  } else {
    selectAll(composer);
    await sleep(30);
    document.execCommand("delete");
    if (!(await settlesAs(composer, ""))) setParagraphs(composer, "");
  }
  if (!(await settlesAs(composer, ""))) return { state: "draft", draft: draft.length };
}
return { state: "clear", draft: draft.length, editor: editorKind(composer) };
