// A chat page that follows a script: a sidebar, turns that arrive in pieces, a composer, and faults as real pages have them.
import { editor } from "./editors.js";
import { ask, faults, h, menu, modal, newId, script, sleep, tell } from "./parts.js";
import { render } from "./render.js";

let conversation = (/^\/c\/([\w-]+)$/.exec(location.pathname) ?? [])[1] ?? null;
let busy = false;
let sending = false;
let model = script.models[0];
let mode = faults.agent_mode ? "Agent" : "Ask";
const files = [];

// ---- turns
const thread = h("div", { class: "thread", "data-part": "thread", role: "log" });

function askTurn(words, names) {
  thread.append(h("section", { class: "turn", "data-turn": "user" }, h("h4", { class: "sr-only" }, "You said:"), names.map((name) => h("span", { "data-part": "sent-file" }, name)), h("div", { class: "bubble" }, words),
    h("div", { class: "bar row" }, h("button", { type: "button", "data-part": "copy", onclick: () => navigator.clipboard.writeText(words) }, "Copy"))));
  thread.scrollTop = thread.scrollHeight;
}

function answerTurn() {
  const body = h("div", { "data-part": "body" });
  const turn = h("section", { class: "turn", "data-turn": "assistant" }, h("h4", { class: "sr-only" }, "Rehearsal said:"), body);
  thread.append(turn);
  return { turn, body, words: "" };
}

function show(answer, whole) {
  answer.body.replaceChildren(...render(answer.words, whole));
  if (faults.sidebar_bleed) answer.body.prepend(...script.history.map((title) => h("p", {}, title)));
  thread.scrollTop = thread.scrollHeight;
}

async function finish(answer) {
  busy = false;
  controls();
  show(answer, true);
  const ended = performance.timeOrigin + performance.now();
  await sleep(faults.copy_late_ms ?? 0);
  answer.turn.append(h("div", { class: "bar row", "data-part": "bar" },
    h("button", { type: "button", "data-part": "copy", onclick: () => copy(answer.words) }, "Copy"), h("button", { type: "button", "data-part": "good" }, "Good")));
  // For whoever measures how soon an answer is taken.
  tell(`ended at ${ended.toFixed(1)}`);
}

async function copy(words) {
  tell("copy");
  if (faults.copy_broken) throw new DOMException("Write permission denied.", "NotAllowedError");
  if (script.editor === "textarea") return navigator.clipboard.writeText(words);
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": new Blob([words], { type: "text/plain" }) })]);
}

function fail(answer, words) {
  busy = false;
  controls();
  answer.turn.append(h("div", { role: "alert", "data-part": "failure" }, words, h("button", { type: "button" }, "Retry")));
}

// Plays an answer from where it is by now.
async function play(steps, elapsed) {
  busy = true;
  controls();
  let answer = answerTurn();
  const begun = performance.now() - elapsed;
  let drawn = 0;
  let thinking = null;
  for (const step of steps) {
    const wait = begun + step.at - performance.now();
    if (wait > 0) {
      if (drawn < answer.words.length) show(answer, false);
      drawn = answer.words.length;
      await sleep(wait);
    }
    switch (step.does) {
      case "think":
        thinking = h("div", { "data-part": "thinking" }, "Thinking");
        answer.turn.insertBefore(thinking, answer.body);
        break;
      case "thought":
        thinking.replaceWith(h("button", { type: "button" }, step.text));
        break;
      case "write": answer.words += step.text; break;
      case "hide_stop":
        busy = false;
        controls();
        break;
      case "show_stop":
        busy = true;
        controls();
        break;
      case "remount": {
        const old = answer;
        answer = { ...answerTurn(), words: old.words };
        old.turn.replaceWith(answer.turn);
        show(answer, false);
        break;
      }
      case "fail": show(answer, false); return fail(answer, step.text);
      case "leave": location.href = step.text; return;
      case "reload": show(answer, false); location.reload(); return;
      case "alert": show(answer, false); setTimeout(() => window.alert(step.text)); break;
      case "throttle": modal("throttle", step.text, ["Got it", "got-it"]); break;
      case "stall": show(answer, false); return;
      case "end": await finish(answer); return;
    }
  }
}

// ---- composer
const chips = h("div", { class: "row", "data-part": "chips" });
const slot = h("span", {});
const form = h("form", { "data-part": "form", onsubmit: (event) => event.preventDefault() });
const field = editor(() => controls(), () => submit("enter"));

function shownName(name) {
  if (!faults.renames_attachments) return name;
  const dot = name.lastIndexOf(".");
  return dot > 0 ? `${name.slice(0, dot)}(20260818-145702)${name.slice(dot)}` : `${name}(1)`;
}

async function addFile(file) {
  const progress = h("progress", { "data-part": "chip-busy" });
  const chip = h("span", { "data-part": "chip", role: "group", "aria-label": shownName(file.name) }, shownName(file.name), progress, h("button", { type: "button", "data-part": "chip-remove", "aria-label": "Remove", onclick: () => {
    files.splice(files.indexOf(one), 1);
    chip.remove();
    controls();
  } }, "×"));
  const one = { name: file.name, id: null };
  files.push(one);
  chips.append(chip);
  controls();
  const answer = await fetch(`/api/files?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  await sleep(faults.upload_ms ?? 30);
  if (faults.upload_fails) {
    files.splice(files.indexOf(one), 1);
    chip.remove();
    document.body.append(h("div", { role: "alert", "data-part": "toast" }, `Something went wrong with ${file.name}`));
  } else {
    one.id = (await answer.json()).id;
    progress.remove();
  }
  controls();
}

// The input for files is made when somebody asks for it, and not before.
function openFiles() {
  const input = h("input", { type: "file", multiple: true, hidden: true, onchange: () => {
    [...input.files].forEach(addFile);
    input.remove();
  } });
  form.append(input);
  input.click();
}

let agreed = !faults.upload_terms;
function chooseFiles() {
  if (agreed) return openFiles();
  modal("terms", "Do you agree to our terms for uploads?", ["Cancel", "cancel"], ["Agree", "agree", () => {
    agreed = true;
    tell("agreed");
    openFiles();
  }]);
}

function controls() {
  const waiting = files.some((one) => one.id === null);
  const kind = busy || faults.stop_never_clears && thread.childElementCount > 1 ? "stop" : field.text().trim() !== "" || files.length > 0 ? "send" : "voice";
  if (slot.dataset.kind !== kind) {
    slot.dataset.kind = kind;
    slot.replaceChildren(kind === "stop" ? h("button", { type: "button", "data-part": "stop" }, "Stop")
      : kind === "send" ? h("button", { type: "button", "data-part": "send", onclick: () => submit("click") }, "Send") : h("button", { type: "button", "data-part": "voice", onclick: () => tell("voice") }, "Voice"));
  }
  if (kind === "send") slot.firstChild.disabled = waiting;
}

async function submit(via) {
  const prompt = field.text();
  if (busy || sending || prompt.trim() === "" || files.some((one) => one.id === null)) return;
  if (faults.ignores_send) return tell("ignored");
  sending = true;
  const answer = await ask("/api/send", { prompt, via, model, mode, conversation, files: files.map((one) => one.id) });
  sending = false;
  if (!answer.ok) return modal("throttle", (await answer.json()).text, ["Got it", "got-it"]);
  const { id, steps } = await answer.json();
  const names = files.map((one) => one.name);
  files.length = 0;
  chips.replaceChildren();
  field.set("");
  if (conversation === null) {
    conversation = id;
    if (faults.passing_address) history.pushState({}, "", `/c/NEW:${newId()}`);
    setTimeout(() => history.pushState({}, "", `/c/${id}`), faults.passing_address ? 300 : 0);
  }
  askTurn(prompt, names);
  play(steps, 0);
}

// ---- the rest of the page
function picker() {
  const button = h("button", { type: "button", "data-part": "model", "aria-haspopup": "menu" }, model);
  menu(button, (close) => script.models.map((name) => h("div", { role: "menuitemradio", "aria-checked": String(name === model), tabindex: "-1", onclick: () => {
    model = name;
    button.textContent = name;
    tell(`model ${name}`);
    close();
  } }, h("span", {}, name), h("small", {}, "A model"))));
  return button;
}

function modes() {
  const button = h("button", { type: "button", "data-part": "mode", "aria-haspopup": "menu" }, mode);
  menu(button, (close) => ["Ask", "Agent"].map((name) => h("div", { role: "menuitemradio", "aria-checked": String(name === mode), onclick: () => {
    mode = name;
    button.textContent = name;
    close();
  } }, h("span", {}, name))));
  return button;
}

function attach() {
  const button = h("button", { type: "button", "data-part": "attach", "aria-haspopup": "menu" }, "+");
  menu(button, (close) => h("div", { role: "menuitem", "data-part": "attach-item", onclick: () => {
    close();
    chooseFiles();
  } }, "Add files"));
  return button;
}

async function start() {
  const signedOut = faults.signed_out === "visitor";
  const sidebar = h("nav", { class: "sidebar", "data-part": "sidebar", "aria-label": "History" }, h("a", { href: "/" }, "New chat"), h("h2", {}, "Chats"), script.history.map((title, at) => h("a", { href: `/c/old-${at}` }, title)),
    signedOut ? null : h("button", { type: "button", "data-part": "profile" }, "Rehearsal user"));
  const place = h("div", { class: "row" });
  form.append(chips, place, h("div", { class: "row" }, attach(), modes(), picker(), slot));
  document.body.append(h("div", { class: "app" }, sidebar, h("main", { class: "page", "data-part": "page" }, h("header", { class: "row" }, signedOut ? h("a", { href: "/login", "data-part": "login" }, "Log in") : h("span", {}, "Rehearsal")), thread, form)));
  if (faults.popup) modal("news", "Something new is here.", ["×", "close", () => tell("popup closed")]);
  await sleep(faults.hydrate_ms ?? 0);
  place.append(field.element);
  if (faults.stale_draft) field.set(faults.stale_draft);
  if (faults.wipes_after_ms) setTimeout(() => field.set(""), faults.wipes_after_ms);
  controls();
  if (conversation === null) return;
  const answer = await fetch(`/api/conversation?id=${conversation}`);
  if (!answer.ok) return document.body.append(h("div", { role: "alert" }, "Unable to load conversation"));
  for (const turn of await answer.json()) {
    if (turn.role === "user") askTurn(turn.text, turn.files);
    else await play(turn.steps, turn.elapsed);
  }
}

start();
