// What every script on the page shares: finding elements by the profile, reading and pressing them, waiting.
// It runs inside a function that has `profile` and `input`. Nothing here parses HTML or runs text as code, so that
// pages with a strict Content-Security-Policy and Trusted Types are no different from others.

// Kept in the page between scripts: what was typed, what stood there before the send, the watcher.
const kept = (window[Symbol.for("git-oracle")] ??= {});

let layout = null;

// A page changes while it loads, and some sites show several layouts: whoever waits looks again.
function refresh() {
  layout = profile.layouts.find((one) => document.querySelector(one.when)) ?? null;
}
refresh();

function selectors(name) {
  return layout?.elements[name] ?? profile.elements[name] ?? [];
}

function isVisible(element) {
  if (element.getClientRects().length === 0) return false;
  const style = getComputedStyle(element);
  return style.visibility !== "hidden" && style.display !== "none";
}

function isEnabled(element) {
  return !element.disabled && element.getAttribute("aria-disabled") !== "true" && element.getAttribute("data-disabled") !== "true";
}

// The elements of the first entry that has any, without those that lie inside another of them.
function every(name, { within = document, visible = false } = {}) {
  for (const css of selectors(name)) {
    let found = [...within.querySelectorAll(css)];
    if (within !== document && within.matches?.(css)) found.unshift(within);
    if (visible) found = found.filter(isVisible);
    if (found.length > 0) return found.filter((one) => !found.some((other) => other !== one && other.contains(one)));
  }
  return [];
}

function first(name, where) {
  return every(name, where)[0] ?? null;
}

// A lone surrogate cannot leave the page.
function text(element) {
  return (element?.textContent ?? "").toWellFormed();
}

function line(value) {
  return value.replace(/\s+/g, " ").trim();
}

// What an element says to its reader: its words, without those on its buttons.
function said(element) {
  const words = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("button, script, style")) words.push(walker.currentNode.data);
  return line(words.join(" ").toWellFormed());
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// The first value of `probe` that is not null or false; null when the time is over.
async function until(ms, probe, step = 50) {
  const end = performance.now() + ms;
  for (;;) {
    const value = probe();
    if (value) return value;
    if (performance.now() >= end) return null;
    await sleep(step);
  }
}

// As a pointer does it: some menus open when it goes down, others when the click is done.
function press(element) {
  const box = element.getBoundingClientRect();
  const at = { bubbles: true, cancelable: true, composed: true, view: window, button: 0, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
  const pointer = { ...at, pointerId: 1, pointerType: "mouse", isPrimary: true };
  element.dispatchEvent(new PointerEvent("pointerdown", { ...pointer, buttons: 1 }));
  element.dispatchEvent(new MouseEvent("mousedown", { ...at, buttons: 1 }));
  element.dispatchEvent(new PointerEvent("pointerup", pointer));
  element.dispatchEvent(new MouseEvent("mouseup", at));
  element.click();
}

function onSignInPage() {
  const { hosts, paths } = profile.sign_in ?? { hosts: [], paths: [] };
  return hosts.includes(location.hostname) || paths.some((path) => location.pathname.startsWith(path));
}

function pressEscape() {
  const key = { key: "Escape", code: "Escape", keyCode: 27, bubbles: true, cancelable: true };
  (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", key));
  document.dispatchEvent(new KeyboardEvent("keydown", key));
}

function says(words, phrases) {
  const lower = words.toLowerCase();
  return (phrases ?? []).some((phrase) => lower.includes(phrase));
}

// What the page tells its user outside of the conversation, with what it means. Answers are no notices, whatever they say.
function notices() {
  const bodies = every("body");
  const composer = first("composer");
  const found = [];
  for (const css of selectors("alert")) {
    for (const one of document.querySelectorAll(css)) {
      if (!isVisible(one) || one.contains(composer)) continue;
      if (bodies.some((body) => body.contains(one) || one.contains(body))) continue;
      if (every("question").some((question) => question.contains(one))) continue;
      const words = said(one);
      if (words === "" || words.length > 600) continue;
      const kind = ["rate_limited", "challenge", "signed_out", "failed"].find((name) => says(words, profile.phrases[name])) ?? "other";
      const modal = one.matches('[role="dialog"], [role="alertdialog"]');
      found.push({ kind, modal, text: words.slice(0, 300), element: one });
    }
  }
  return found.filter((one) => !found.some((other) => other !== one && other.element !== one.element && one.element.contains(other.element) && one.kind === "other"));
}

function plain(notice) {
  return notice && { kind: notice.kind, modal: notice.modal, text: notice.text };
}
