// One job: take our answer home. The turn's own Copy gives the markdown it was made from: its write to the clipboard is
// caught, so the clipboard of the system is never touched. Where that fails the answer's nodes are read.

const COPY_LIMIT = 4000;

function letters(words) {
  return words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

async function copied(button) {
  let take;
  const got = new Promise((resolve) => (take = resolve));
  const items = async (list) => {
    for (const item of list) {
      if (item.types.includes("text/plain")) return take(await (await item.getType("text/plain")).text());
    }
  };
  const board = navigator.clipboard;
  const command = document.execCommand;
  if (board) {
    Object.defineProperty(board, "writeText", { configurable: true, value: async (words) => take(String(words)) });
    Object.defineProperty(board, "write", { configurable: true, value: items });
  } else {
    Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (words) => take(String(words)), write: items } });
  }
  // Older pages select a text field and copy that.
  document.execCommand = function (name, ...rest) {
    if (String(name).toLowerCase() !== "copy") return command.call(this, name, ...rest);
    const field = document.activeElement;
    take(field && "selectionStart" in field ? field.value.slice(field.selectionStart, field.selectionEnd) : getSelection().toString());
    return true;
  };
  try {
    button.click();
    return await Promise.race([got, sleep(Math.min(profile.waits.copy_ms, COPY_LIMIT)).then(() => null)]);
  } finally {
    if (board) {
      delete board.writeText;
      delete board.write;
    } else {
      delete navigator.clipboard;
    }
    delete document.execCommand;
  }
}

// Lines of the page's sidebar that stand in the answer's prose, or an answer that holds the sidebar itself.
// Code is not looked at: it may well speak of navigation, headers and issues.
function hasSidebar(bodies, markdown) {
  const bars = selectors("sidebar").flatMap((css) => [...document.querySelectorAll(css)]);
  if (bodies.some((body) => bars.some((bar) => bar.contains(body) || (body.contains(bar) && line(text(bar)) !== "")))) return true;
  const labels = new Set(bars.flatMap((bar) => [...bar.querySelectorAll("a, button, h2, h3, li")].map((one) => line(text(one)))).filter((words) => words.length >= 4 && words.length <= 80));
  const prose = markdown.replace(/^(\s*)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\s*\2[`~]*\s*$/gm, "\n").split("\n");
  const hits = new Set(prose.map((one) => line(one.replace(/^[\s>*#-]+/, ""))).filter((words) => labels.has(words)));
  return hits.size >= 3;
}

const question = ourQuestion(input.requestId);
if (!question) return {};
const turns = answerTurns(question);
const bodies = answerBodies(turns);
const words = bodies.map(text).join("\n");
if (bodies.length === 0 || isPlaceholder(words)) return {};
const dom = bodies.map(toMarkdown).filter((one) => one !== "").join("\n\n");

let taken = null;
if (input.copy) {
  const last = turns[turns.length - 1];
  const button = first("copy", { within: last, visible: true });
  if (button) taken = (await copied(button))?.replaceAll("\r\n", "\n").toWellFormed() ?? null;
}
// What Copy gave is trusted when it carries the id at both ends, or says what the page shows; never the prompt.
let capture = "dom";
if (taken !== null && taken.trim() !== "" && taken !== kept.typed) {
  const [shown, given] = [letters(dom), letters(taken)];
  const whole = shown.length <= given.length + Math.max(12, given.length * 0.75);
  if (isSealed(taken, input.requestId) || (whole && given.includes(shown.slice(0, 40)))) capture = "clipboard";
}
const answer = capture === "clipboard" ? taken : dom;
return {
  text: answer,
  capture,
  proof: question.proof,
  sealed: isSealed(answer, input.requestId),
  seen: answer.includes(input.requestId),
  clipped: capture === "dom" && turns.some((turn) => every("clipped", { within: turn }).length > 0),
  sidebar: hasSidebar(bodies, answer),
};
