// One job: find the input that takes files, opening the menu that makes it where the page has none.
// No file dialog may open: there is nobody to close it.
const own = HTMLInputElement.prototype;
const click = own.click;
const picker = own.showPicker;
let asked = null;

function where() {
  const inputs = asked && asked.isConnected ? [asked] : every("file_input");
  return inputs.find((one) => one.type === "file" && !one.disabled) ?? null;
}

let found = where();
if (!found) {
  own.click = function () {
    if (this.type !== "file") return click.call(this);
    asked = this;
  };
  own.showPicker = function () {
    asked = this;
  };
  try {
    const button = await until(profile.waits.menu_ms, () => first("attach_button", { visible: true }));
    if (!button) return { state: "no_button" };
    press(button);
    const item = await until(2000, () => first("attach_item", { visible: true }) ?? (where() ? document.body : null));
    if (item && item !== document.body) press(item);
    await until(3000, () => {
      const agree = first("attach_agree", { visible: true });
      if (agree) {
        kept.agreed = true;
        press(agree);
      }
      return where() ?? asked;
    });
  } finally {
    own.click = click;
    if (picker) own.showPicker = picker;
    else delete own.showPicker;
  }
  // Some pages never put it into the document, where the driver would look for it.
  if (asked && !asked.isConnected) {
    asked.hidden = true;
    document.body.append(asked);
  }
  found = where();
}
if (!found) return { state: "no_input" };
kept.chips = every("chip", { visible: true }).length;
return { state: "open", element: found, agreed: kept.agreed === true };
