// One job: choose a model by the name that the page shows, and look into the menu again whether it is chosen.
const wanted = line(input.model).toLowerCase();

function name(item) {
  const label = first("menu_label", { within: item });
  if (label) return line(text(label));
  // Without a label of its own the first piece of text is the name, what follows describes it.
  const words = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) if (line(words.currentNode.data) !== "") return line(words.currentNode.data);
  return "";
}

function items() {
  return every("menu_item", { visible: true });
}

function find() {
  return items().find((item) => name(item).toLowerCase() === wanted || line(text(item)).toLowerCase() === wanted);
}

function isChosen(item) {
  return selectors("menu_chosen").some((css) => item.matches(css) || item.querySelector(css) !== null);
}

async function open() {
  if (items().length > 0) return true;
  const button = first("model_button", { visible: true });
  if (!button) return false;
  press(button);
  return (await until(profile.waits.menu_ms, () => items().length > 0)) !== null;
}

async function close() {
  for (let turn = 0; turn < 3 && items().length > 0; turn++) {
    pressEscape();
    if (await until(300, () => items().length === 0)) return;
    const backdrop = document.querySelector(".cdk-overlay-backdrop");
    if (backdrop) press(backdrop);
    else press(document.body);
    await sleep(100);
  }
}

const button = await until(profile.waits.menu_ms, () => first("model_button", { visible: true }));
if (!button) return { state: "no_picker" };
if (!(await open())) return { state: "no_menu" };
const offered = new Set(items().map(name));
let item = await until(400, find);
if (!item) {
  for (const more of every("menu_more", { visible: true })) {
    press(more);
    more.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    item = await until(600, find);
    for (const one of items()) offered.add(name(one));
    if (item) break;
  }
}
const list = () => [...offered].filter((one) => one !== "").slice(0, 40);
if (!item) {
  await close();
  return { state: "not_offered", offered: list() };
}
if (!isChosen(item)) {
  press(item);
  await until(2000, () => items().length === 0);
  await close();
  if (!(await open())) return { state: "no_menu" };
  item = await until(600, find);
  if (!item) for (const more of every("menu_more", { visible: true })) {
    press(more);
    item = await until(600, find);
    if (item) break;
  }
}
const chosen = item ? isChosen(item) : false;
const label = item ? name(item) : null;
await close();
return { state: chosen ? "chosen" : "not_taken", model: label, offered: list() };
