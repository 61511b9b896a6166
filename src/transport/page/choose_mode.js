// One job: leave a mode that would not answer.
let wrong = wrongMode();
if (wrong === null) return { state: "right", mode: modeNow(), was: null };
const was = wrong;
const button = first("mode_button", { visible: true });
if (button) {
  press(button);
  const wanted = await until(profile.waits.menu_ms, () => every("menu_item", { visible: true }).find((one) => profile.mode.want.includes(line(text(first("menu_label", { within: one }) ?? one)))));
  if (!wanted) {
    pressEscape();
    return { state: "wrong", mode: was };
  }
  press(wanted);
} else {
  const wanted = every("mode_choice").find((one) => profile.mode.want.includes(modeName(one)));
  if (!wanted) return { state: "wrong", mode: was };
  press(wanted);
}
const right = await until(2000, () => wrongMode() === null);
return right ? { state: "right", mode: modeNow(), was } : { state: "wrong", mode: wrongMode() };
