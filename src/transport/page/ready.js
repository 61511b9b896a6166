// One job: wait until the page can be used, or it is clear why it cannot. Closes known overlays on the way.
const started = performance.now();
let composer = null;
let since = started;
let escaped = false;
const closed = [];

function challenged() {
  const title = document.title.toLowerCase();
  if ((profile.phrases.challenge_title ?? []).some((phrase) => title.includes(phrase))) return true;
  return first("challenge") !== null || (layout === null && (document.body?.textContent.length ?? 0) < 2000 && says(text(document.body), profile.phrases.challenge));
}

// A composer counts when the same element has stood there for a while: pages replace it when their scripts start.
function settled() {
  const now = performance.now();
  const here = first("composer", { visible: true });
  if (here !== composer) [composer, since] = [here, now];
  const best = selectors("composer")[0];
  const patience = here?.matches(best) ? 200 : 1500;
  return here && document.readyState !== "loading" && now - since >= patience;
}

function report(state, more) {
  return { state, layout: layout?.name ?? null, url: location.href, title: line(document.title).slice(0, 200), closed, ...more };
}

async function isMember() {
  if (first("signed_in")) return true;
  if (!profile.session) return null;
  try {
    const answer = await fetch(profile.session.path, { credentials: "same-origin", signal: AbortSignal.timeout(4000) });
    return answer.ok && Boolean((await answer.json())?.[profile.session.field]);
  } catch {
    return null;
  }
}

for (;;) {
  refresh();
  if (onSignInPage() && document.readyState === "complete") return report("signed_out");
  // A page that is looking at its visitor has no layout; everything else is asked of the page itself.
  if (challenged()) return report("challenge");
  const out = first("signed_out", { visible: true });
  if (out && performance.now() - started > 400) {
    const member = first("signed_in") !== null;
    if (!member) return report("signed_out");
  }
  for (const button of every("overlay_close", { visible: true })) {
    const words = line(text(button.closest('[role="dialog"], [role="alertdialog"], dialog') ?? button));
    if (says(words, profile.phrases.rate_limited)) continue;
    closed.push(words.slice(0, 80));
    press(button);
    await sleep(150);
  }
  if (settled() && layout) {
    const notice = notices().find((one) => ["rate_limited", "challenge", "signed_out"].includes(one.kind));
    if (notice) return report(notice.kind, { notice: plain(notice) });
    const modal = notices().find((one) => one.modal);
    if (modal && !escaped) {
      escaped = true;
      pressEscape();
      await sleep(150);
      continue;
    }
    const member = await isMember();
    if (member === true || (member === null && input.guests)) return report("ready");
    if (member === false) return report("signed_out");
    if (performance.now() - started > 5000) return report("unproved");
  }
  if (performance.now() - started >= input.ms) return report(layout === null ? "unknown" : composer ? "unsettled" : "no_composer", { text: line(text(document.body)).slice(0, 200) });
  await sleep(100);
}
