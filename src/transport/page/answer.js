// Which question on the page is ours, which turns answer it, and what they say.

function follows(one, other) {
  return (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}

// The question that carries the request id; else, after a send, a last question that was not there before it.
function ourQuestion(requestId) {
  const questions = every("question");
  for (let at = questions.length - 1; at >= 0; at--) {
    if (text(questions[at]).includes(requestId)) return { element: questions[at], next: questions[at + 1] ?? null, proof: "request_id" };
  }
  const before = kept.before;
  if (!before || before.requestId !== requestId || questions.length === 0) return null;
  const last = questions[questions.length - 1];
  if (questions.length > before.questions || text(last) !== before.last) return { element: last, next: null, proof: "order" };
  return null;
}

// The turns between our question and the next one. In some layouts one element holds both question and answer.
function answerTurns(question) {
  return every("answer").filter((turn) => {
    if (turn.contains(question.element)) return true;
    if (question.next && (turn.contains(question.next) || follows(question.next, turn))) return false;
    return follows(question.element, turn);
  });
}

function answerBodies(turns) {
  return turns.flatMap((turn) => every("body", { within: turn }));
}

function isPlaceholder(words) {
  const said = line(words).toLowerCase();
  if (said === "") return true;
  if (said.length > 60) return false;
  if (/^thought for \S+( \S+)?$/.test(said)) return true;
  let rest = said;
  for (const phrase of [...(profile.phrases.placeholder ?? [])].sort((a, b) => b.length - a.length)) {
    if (rest === phrase) return true;
    if (rest.startsWith(phrase)) rest = rest.slice(phrase.length).trim();
  }
  return rest.replace(/[.…\s]/g, "") === "";
}

// The id came before and stands at the end: nothing more will come.
function isEnded(words, requestId) {
  const end = words.lastIndexOf(requestId);
  return end > words.indexOf(requestId) && /^[^\p{L}\p{N}]*$/u.test(words.slice(end + requestId.length));
}

// And it stands at the beginning, too: the answer is this one, and it is whole.
function isSealed(words, requestId) {
  return isEnded(words, requestId) && /^[^\p{L}\p{N}]*$/u.test(words.slice(0, words.indexOf(requestId)));
}
