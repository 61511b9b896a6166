// One job: send once. Everything is looked at again in the same breath as the click; nothing is clicked twice.
function obstacle() {
  const composer = first("composer", { visible: true });
  if (!composer) return { state: "no_composer" };
  if (readEditor(composer) !== kept.typed) return { state: "different" };
  const wrong = wrongMode();
  if (wrong !== null) return { state: "mode", mode: wrong };
  const notice = notices().find((one) => one.kind === "rate_limited");
  if (notice) return { state: "rate_limited", notice: plain(notice) };
  if (every("stop", { visible: true }).length > 0 && !first("send", { visible: true })) return { state: "busy" };
  const chips = every("chip", { visible: true }).length;
  if (chips !== input.attachments) return { state: "attachments", chips };
  const send = first("send", { visible: true });
  if (!send) return { state: "no_send" };
  return isEnabled(send) ? null : { state: "disabled" };
}

if (kept.sent === input.requestId) return { state: "already" };
let last = null;
const waiting = ["no_send", "disabled", "busy", "attachments"];
await until(input.ms, () => {
  last = obstacle();
  return last === null || !waiting.includes(last.state);
}, 40);
// Nothing can come between this look and the click.
last = obstacle();
if (last !== null) return last;
const questions = every("question");
kept.before = { requestId: input.requestId, questions: questions.length, last: text(questions[questions.length - 1]), url: location.href, notices: notices().map((one) => one.text) };
kept.sent = input.requestId;
first("send", { visible: true }).click();
return { state: "clicked" };
