// One job: watch our answer. The watcher stays in the page; this waits for it for one slice and says what it saw.
// It notes when the page changed, not when somebody looked, so that a quiet window is as long as it says.

function startWatcher() {
  const watcher = { requestId: input.requestId, changedAt: performance.now(), movedAt: performance.now(), mutations: 0, words: null, turns: 0, waiting: null, timer: 0, cost: 0, noticedAt: 0, firstAt: null };
  let touchedAt = performance.now();
  function look() {
    watcher.timer = 0;
    const now = performance.now();
    const seen = survey(watcher, touchedAt, now);
    watcher.cost = performance.now() - now;
    watcher.seen = seen;
    watcher.waiting?.(seen);
    schedule(seen.next ?? 500);
  }
  function schedule(ms) {
    const due = performance.now() + ms;
    if (watcher.timer && watcher.due <= due) return;
    clearTimeout(watcher.timer);
    watcher.due = due;
    watcher.timer = setTimeout(look, ms);
  }
  watcher.observer = new MutationObserver((list) => {
    touchedAt = performance.now();
    watcher.mutations += list.length;
    // On a large page a look is dear: the page keeps most of its time for itself.
    schedule(Math.max(15, 4 * watcher.cost));
  });
  watcher.observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["class", "hidden", "disabled", "aria-busy", "aria-disabled", "aria-label", "data-state", "data-testid"] });
  watcher.look = look;
  watcher.stop = () => {
    watcher.observer.disconnect();
    clearTimeout(watcher.timer);
    kept.watcher = null;
  };
  return watcher;
}

function survey(watcher, touchedAt, now) {
  if (layout === null || watcher.seen?.state === "lost") refresh();
  const question = ourQuestion(input.requestId);
  const turns = question ? answerTurns(question) : [];
  const bodies = answerBodies(turns);
  const words = bodies.map(text).join("\n");
  const last = turns[turns.length - 1] ?? null;
  const thinking = turns.some((turn) => every("thinking", { within: turn, visible: true }).length > 0);
  const activity = thinking ? turns.map((turn) => turn.textContent.length).join() : "";
  if (words !== watcher.words || turns.length !== watcher.turns) {
    if (watcher.words !== null) watcher.changedAt = touchedAt;
    watcher.movedAt = touchedAt;
    [watcher.words, watcher.turns] = [words, turns.length];
  }
  if (activity !== watcher.activity) [watcher.activity, watcher.movedAt] = [activity, touchedAt];
  const answered = words !== "" && !isPlaceholder(words);
  if (answered) watcher.firstAt ??= now;
  const stop = every("stop", { visible: true }).length > 0;
  const copy = last !== null && every("copy", { within: last, visible: true }).length > 0;
  const bar = copy || (last !== null && every("finished", { within: last, visible: true }).length > 0);
  const ended = isEnded(words, input.requestId);
  const quiet = now - watcher.changedAt;
  const idle = now - watcher.movedAt;
  const signals = { question: question?.proof ?? null, turns: turns.length, text: answered, stop, thinking, copy, bar, ended };
  const seen = { signals, chars: words.length, quiet, idle, mutations: watcher.mutations };

  // What an answer needs to be over: everything agrees for the short window; an end is proved but something
  // disagrees for the long one; nothing but silence for three of them, and then nothing may be at work.
  const { short_ms: short, long_ms: long } = profile.quiet;
  let need = Infinity;
  let path = "inactivity_fallback";
  if (answered) {
    if (ended && bar && !stop && !thinking) [need, path] = [short, "all_signals"];
    else if (bar && !stop && !thinking) [need, path] = [long, "all_signals"];
    else if (ended || bar) need = long;
    else if (!stop && !thinking) need = 3 * long;
  }
  if (quiet >= need) return { ...seen, state: "done", path };

  const failure = question ? inTurn(question, turns) : null;
  const notice = failure ?? notices().find((one) => ["rate_limited", "challenge", "signed_out"].includes(one.kind) && !words.includes(one.text)) ?? null;
  if (notice && !ended) {
    watcher.noticedAt ||= now;
    const patience = failure ? 1500 : profile.waits.throttled_ms;
    if (now - Math.max(watcher.noticedAt, watcher.movedAt) >= patience) return { ...seen, state: notice.kind, notice: plain(notice) };
  } else {
    watcher.noticedAt = 0;
  }
  const state = question === null ? "lost" : answered ? "streaming" : thinking || stop ? "thinking" : "waiting";
  return { ...seen, state, next: Math.max(10, Math.min(500, need - quiet)) };
}

// A failure that the page shows in the place of an answer, or below a piece of one.
function inTurn(question, turns) {
  for (const css of selectors("failure")) {
    for (const one of document.querySelectorAll(css)) {
      if (!isVisible(one) || answerBodies(turns).some((body) => body.contains(one))) continue;
      const near = turns.some((turn) => turn.contains(one)) || follows(question.element, one);
      if (near && !(question.next && follows(question.next, one))) {
        const words = said(one).slice(0, 300);
        const kind = says(words, profile.phrases.rate_limited) ? "rate_limited" : "failed";
        if (words !== "") return { kind, modal: false, text: words };
      }
    }
  }
  return null;
}

if (kept.watcher && kept.watcher.requestId !== input.requestId) kept.watcher.stop();
const watcher = (kept.watcher ??= startWatcher());
const begun = performance.now();
const chars = watcher.words?.length ?? 0;
const phase = watcher.seen?.state ?? null;
const over = ["done", "failed", "rate_limited", "challenge", "signed_out"];

const seen = await new Promise((resolve) => {
  const end = setTimeout(() => watcher.look(), input.ms + 5);
  watcher.waiting = (now) => {
    const waited = performance.now() - begun;
    const news = now.state !== phase || (now.chars !== chars && waited >= input.news_ms);
    if (!over.includes(now.state) && waited < input.ms && !(news && waited >= Math.min(100, input.ms)) && now.idle < input.stall_ms) return;
    clearTimeout(end);
    watcher.waiting = null;
    resolve(now);
  };
  watcher.look();
});
delete seen.next;
seen.left = onSignInPage();
// What there is so far, now and then: a browser that crashes takes the page with it.
if (!over.includes(seen.state) && seen.signals.text && watcher.words !== watcher.given && performance.now() - (watcher.givenAt ?? -Infinity) >= input.keep_ms) {
  [watcher.given, watcher.givenAt] = [watcher.words, performance.now()];
  seen.partial = answerBodies(answerTurns(ourQuestion(input.requestId))).map(toMarkdown).join("\n\n");
}
if (over.includes(seen.state)) watcher.stop();
return { ...seen, quiet: Math.round(seen.quiet), idle: Math.round(seen.idle), first: watcher.firstAt === null ? null : Math.round(performance.now() - watcher.firstAt), url: location.href };
