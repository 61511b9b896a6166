// One job: wait for the proof that the page took the prompt: a question that carries the id, or a new one after a cleared composer.
function look() {
  refresh();
  const question = ourQuestion(input.requestId);
  const composer = first("composer");
  const empty = composer ? readEditor(composer) === "" : true;
  if (question?.proof === "request_id") return { state: "committed", proof: "request_id" };
  if (question && empty) return { state: "committed", proof: "order" };
  const notice = notices().find((one) => one.kind !== "other" && !(kept.before?.notices ?? []).includes(one.text)) ?? notices().find((one) => one.kind === "rate_limited");
  if (notice) return { state: notice.kind, notice: plain(notice), empty };
  // A dialog in words that nobody listed, over a composer that kept the text: the page says no.
  const modal = empty ? null : notices().find((one) => one.modal && !(kept.before?.notices ?? []).includes(one.text));
  if (modal) return { state: "failed", notice: plain(modal), empty };
  if (onSignInPage()) return { state: "signed_out" };
  if (layout === null) return { state: "gone" };
  return { state: "pending", empty, busy: every("stop", { visible: true }).length > 0 };
}

let seen = null;
let noticed = 0;
await until(input.ms, () => {
  seen = look();
  if (seen.state === "pending" || seen.state === "gone") {
    noticed = 0;
    return false;
  }
  // A notice must stay for a moment without a question: some pages show one while they still take the prompt.
  if (seen.state !== "committed") return (noticed += 1) > (seen.notice?.kind === "other" ? 60 : 20);
  return true;
}, 50);
return { ...seen, url: location.href };
