// One job: wait until the attachments are really there: as many as were given, none of them on its way any more.
const wanted = (kept.chips ?? 0) + input.names.length;

function shown() {
  return every("chip", { visible: true }).map((chip) => line([text(chip), chip.getAttribute("aria-label") ?? "", chip.getAttribute("title") ?? ""].join(" ")));
}

// Pages rename what they take (a counter, a date, an ellipsis, no extension): the beginning is what stays.
function isNamed(name, chips) {
  const stem = name.replace(/\.[^.]*$/, "").slice(0, 6).toLowerCase();
  return chips.some((chip) => chip.toLowerCase().includes(stem));
}

let most = 0;
let still = null;
const done = await until(input.ms, () => {
  const chips = shown();
  most = Math.max(most, chips.length);
  const busy = every("chip_busy", { visible: true }).length > 0;
  const complaint = notices().find((one) => one.kind === "failed" || one.kind === "rate_limited");
  if (complaint) return { state: "refused", notice: plain(complaint), chips: chips.length };
  if (chips.length < wanted || busy) {
    still = null;
    return null;
  }
  still ??= performance.now();
  if (performance.now() - still < 400) return null;
  return { state: "attached", chips: chips.length, unnamed: input.names.filter((name) => !isNamed(name, chips)) };
}, 80);
if (done?.state === "attached") kept.attached = wanted;
return done ?? { state: most === 0 ? "none" : shown().length < wanted ? "lost" : "busy", chips: shown().length };
