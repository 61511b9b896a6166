// What the page would do with a prompt. Some pages have a mode that starts work instead of a chat, and remember it.

function modeName(element) {
  return line(text(element));
}

function modeNow() {
  const chosen = every("mode_choice").find((one) => selectors("mode_chosen").some((css) => one.matches(css)));
  const shown = chosen ?? first("mode_button", { visible: true });
  return shown ? modeName(shown) : null;
}

// Null when the mode is right or there is none to choose.
function wrongMode() {
  const now = profile.mode ? modeNow() : null;
  if (now === null) return null;
  if (profile.mode.want.includes(now)) return null;
  // Where a button names the mode, an unknown name is not trusted; a pair of radio buttons is only a trap by name.
  return profile.mode.refuse.includes(now) || first("mode_button", { visible: true }) ? now : null;
}
