#!/usr/bin/env python3
"""Opens each captured chat page in the real browser, and compares what is found there with what a person sees.

usage: captured.py --bin DIR --pages DIR [NAME…]    NAMEs choose the pages whose name contains one of them

Each page is served from loopback as it was captured. Three things are added to it: what the capture lacks of a page that
can be used (a composer, somebody who is signed in), a request id behind the words of one question, and a witness that
tells what is pressed, written and chosen there. `session attach` then takes the answer to that question home, without
sending: its Copy button is pressed and nothing else, and its markdown is that of `captured/`. On a whole page `ask` also
opens the choice of models, gives a file and writes a prompt, each to the right element, and sends nothing. The profiles
are the built-in ones with shorter waits. The last line is `captured: P/N passed`.
"""
import argparse
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

CI = pathlib.Path(__file__).resolve().parent
ID = "orc-0123456789ab"

PROSEMIRROR = '<form data-type="unified-composer"><div id="prompt-textarea" class="ProseMirror" contenteditable="true"><p><br></p></div></form>'
QUILL = '<input-area-v2><rich-textarea><div class="ql-editor" contenteditable="true" role="textbox"><p><br></p></div></rich-textarea></input-area-v2>'
ACCOUNT = '<a aria-label="Google Account: A Person (person@example.org)" href="#">A</a>'

# For each page: its site; the words of each of its questions, in order; what of it each Copy button has, if there is one;
# on a whole page what the elements have that one uses to ask; and what is added before, around and after it.
PAGES = {
    "chatgpt-article-2026-02-27": {
        "site": "chatgpt", "questions": ["「はい」とだけ答えて", "次は「いいえ」だけ答えて"], "copy": 'aria-label="Copy"',
        "composer": 'id="prompt-textarea"', "model": 'data-testid="model-switcher-dropdown-button"', "file": '<input multiple="" style=',
    },
    "chatgpt-section-code-2026-07-17": {
        "site": "chatgpt", "questions": ["세 가지 언어 코드 예시를 짧게 보여줘"], "copy": 'aria-label="응답 복사"',
        "composer": 'id="prompt-textarea"', "model": 'class="__composer-pill', "file": 'id="upload-files"',
    },
    "chatgpt-section-thought-citations-2026-07-18": {
        "site": "chatgpt", "questions": ["loremxi 전 lor lo lore lore"], "copy": 'aria-label="응답 복사"', "after": PROSEMIRROR,
    },
    "chatgpt-codemirror-runnable-2026": {
        "site": "chatgpt", "questions": ["How does it go in Python?"], "after": PROSEMIRROR,
        # What was captured is a page to share, which has an answer but no turns.
        "around": ("<main>", '<section data-testid="conversation-turn-1" data-turn="user"><div data-message-author-role="user">How does it go in Python?'
                   '</div></section><section data-testid="conversation-turn-2" data-turn="assistant"><div data-message-author-role="assistant">'
                   '<div class="markdown prose">', "</main>", "</div></div></section>"),
    },
    "chatgpt-appshell-attachment-2026-09-29": {
        "site": "chatgpt", "questions": ["Fixture test: reply with one short sentence"], "copy": 'aria-label="복사"',
        "composer": "data-composer-markdown", "model": "data-codex-intelligence-trigger", "file": 'aria-label="파일 첨부"',
    },
    "gemini-2026-02-27": {
        "site": "gemini", "questions": ["理解したら「はい」だけ回答してください", "次は「いいえ」と回答してください"], "copy": 'data-test-id="copy-button"',
        "composer": 'class="ql-editor', "model": 'data-test-id="bard-mode-menu-button"', "attach": "upload-card-button", "after": ACCOUNT,
    },
    "gemini-minimal-2026-01-19": {
        "site": "gemini", "questions": ["I have a Pixel 8 Pro phone", "best settings for night photography?"], "after": QUILL + ACCOUNT,
    },
    "gemini-structure-2026-07-25": {
        # Only the first answer has a bar, without a Copy button.
        "site": "gemini", "questions": ["First fixture question.", "With a second line."], "bars": [0], "after": QUILL + ACCOUNT,
    },
    "gemini-thoughts-2025-11-29": {
        "site": "gemini", "questions": ["lo lore lo 수 lor lore"], "copy": 'data-test-id="copy-button"', "after": QUILL + ACCOUNT,
    },
    "copilot-codeblock-2025-11-17": {
        "site": "copilot", "questions": ["How would you patch it?"],
        "after": '<form><textarea id="copilot-chat-textarea"></textarea></form><button type="button" data-login="person">A</button>',
        # What was captured is the inside of one answer.
        "around": ("<body>", '<div class="UserMessage-module__container__Ab1c2">How would you patch it?</div><div class="ChatMessage-module__ai__Ab1c2">'
                   '<div class="markdown-body" data-copilot-markdown="">', "</body>", "</div></div>"),
    },
}

# The witness. It finds a question by its words and marks it, and posts what is done on the page.
WITNESS = """<script>
const questions = %(questions)s.map((words) => {
  let found = document.body;
  for (let next = found; next; next = [...found.children].find((one) => one.tagName !== "SCRIPT" && one.textContent.includes(words))) found = next;
  return found;
});
questions[%(marked)d]?.append(" Request id: %(id)s");
const tell = (does, element, more) => fetch("/witness", { method: "POST", keepalive: true, body: JSON.stringify({
  does, element: element.cloneNode(false).outerHTML, follows: questions.filter((one) => one.compareDocumentPosition(element) & 4).length, ...more }) });
for (const does of ["pointerdown", "click", "change"]) {
  document.addEventListener(does, (event) => tell(does, event.target.closest("button") ?? event.target, { files: event.target.files?.length }), true);
}
const written = new Map();
setInterval(() => document.querySelectorAll("textarea, [contenteditable=true]").forEach((one) => {
  const words = "value" in one ? one.value : one.textContent;
  if (words.trim() !== "" && words !== written.get(one)) tell("written", one, { words });
  written.set(one, words);
}), 20);
</script>"""


class Server(http.server.ThreadingHTTPServer):
    """Serves /PAGE/N with the question N marked, and hears the witness."""
    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.told = pages, []

    def page(self, name, marked):
        spec = PAGES[name]
        text = (self.pages / f"{name}.html").read_text()
        for at in range(0, len(spec.get("around", ())), 2):
            mark, more = spec["around"][at:at + 2]
            text = text.replace(mark, mark + more if at == 0 else more + mark, 1)
        values = {"questions": json.dumps(spec["questions"]), "marked": marked, "id": ID}
        # A script's own words are none of the page's.
        return text.replace("</body>", spec.get("after", "") + WITNESS % values + "</body>", 1)


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts[0] in PAGES and len(parts) == 2:
            self.answer("text/html; charset=utf-8", self.server.page(parts[0], int(parts[1])).encode())
        else:
            # Every page asks its site who is signed in.
            self.answer("application/json", b'{"user": {"id": "person"}}')

    def do_POST(self):
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("application/json", b"{}")

    def log_message(self, *_):
        pass


class World:
    """A home of its own, with the built-in profiles that wait less."""

    def __init__(self, program, server, scratch):
        self.program, self.server, self.home = program, server, scratch / "home"
        self.base = f"http://127.0.0.1:{server.server_port}"
        self.env = {**{name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}, "HOME": str(self.home)}
        (self.home / ".oracle/pages").mkdir(parents=True)
        shorter = {"send_ms": 1200, "upload_ms": 1200, "menu_ms": 600, "copy_ms": 300, "long_ms": 800}
        for path in (CI.parent / "policies/pages").glob("*.toml"):
            text = path.read_text()
            for name, value in shorter.items():
                text, count = re.subn(rf"^{name} = \d+$", f"{name} = {value}", text, flags=re.M)
                assert count == 1, (path, name)
            (self.home / ".oracle/pages" / path.name).write_text(text)
        (scratch / "work").mkdir()
        (scratch / "work/context.md").write_text("# Context\n")
        self.work = scratch / "work"
        subprocess.run(["git", "init", "-q", str(self.work)], check=True, env=self.env)

    def run(self, *args):
        """Runs git-oracle and returns it with what the witness told meanwhile."""
        self.server.told.clear()
        ran = subprocess.run([self.program, *args], cwd=self.work, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return ran, list(self.server.told)

    def session(self, slug, site, url):
        """Makes a session whose run was killed when it had sent its prompt on this page."""
        folder = self.home / ".oracle/sessions" / slug
        folder.mkdir(parents=True)
        options = {"url": url, "requestId": ID}
        (folder / "session.json").write_text(json.dumps(
            {"id": slug, "createdAt": "2026-11-18T00:00:00.000Z", "status": "running", "mode": "browser", "platform": site, "cwd": "/", "options": options}))
        steps = [("intent", {"requestId": ID, "turn": 1}), ("sending", {}), ("sent", {}), ("committed", {}), ("address", {"url": url})]
        (folder / "ledger.jsonl").write_text("".join(json.dumps({"step": step, "facts": facts}) + "\n" for step, facts in steps))
        for name in ("output.log", ".git-oracle"):
            (folder / name).write_text("")
        return folder


def pressed(told, *kinds):
    return [one for one in told if one["does"] in kinds]


def answers(world, name, spec):
    """Returns what is wrong with the answers that are taken home from a page."""
    wrong = []
    for number in range(len(spec["questions"])):
        slug = f"{name}-{number}"
        folder = world.session(slug, spec["site"], f"{world.base}/{name}/{number}")
        ran, told = world.run("session", "attach", slug)
        if ran.returncode != 0:
            wrong.append(f"answer {number + 1}: exit {ran.returncode}: {ran.stderr.strip()[-300:]}")
            continue
        result = json.loads((folder / "result.json").read_text())
        expected = (CI / "captured" / f"{name}.{number + 1}.md").read_text().rstrip("\n")
        said = (folder / "response-1.md").read_text().rstrip("\n")
        if said != expected:
            wrong.append(f"answer {number + 1} is\n{said}\ninstead of\n{expected}\n")
        # The bar of a finished answer proves its end at once; where a capture has none, only silence does.
        path = "all_signals" if "copy" in spec or number in spec.get("bars", []) else "inactivity_fallback"
        seen = {"completionPath": (result["completionPath"], path), "capture": (result["capture"], "dom"), "sidebarDetected": (result["sidebarDetected"], False)}
        wrong += [f"answer {number + 1}: {what} is {value}, not {right}" for what, (value, right) in seen.items() if value != right]
        clicks = pressed(told, "click", "pointerdown")
        right = [one for one in clicks if one["follows"] == number + 1 and spec.get("copy", "\0") in one["element"]]
        if clicks != right or len(clicks) != ("copy" in spec):
            wrong.append(f"answer {number + 1}: pressed {[(one['follows'], one['element']) for one in clicks]}")
    return wrong


def controls(world, name, spec):
    """Returns what is wrong with what `ask` uses on a whole page. A captured page does nothing, so nothing is ever sent."""
    wrong = []
    place = ["ask", "--page", spec["site"], "--browser-url", f"{world.base}/{name}/9", "--json", "-p", "Is this\n\n\tthe composer?"]

    def expect(what, more, kinds, right, check):
        ran, told = world.run(*place, *more)
        try:
            result = json.loads(ran.stdout)
        except ValueError:
            wrong.append(f"{what}: no result: {ran.stderr[-300:]}")
            return
        if result["status"] != "unavailable" or result["error"]["kind"] == "send_unclear":
            wrong.append(f"{what}: ended with {result['status']}, {result['error']}")
        seen = pressed(told, *kinds)
        if not seen or not all(right in one["element"] and check(one) for one in seen):
            wrong.append(f"{what}: {[(one['does'], one['element']) for one in seen]}")
        others = [one["element"] for one in pressed(told, "click") if right not in one["element"]]
        if others:
            wrong.append(f"{what}: pressed {others}")

    expect("the choice of models", ["--model", "No such model"], ["pointerdown"], spec["model"], lambda _: True)
    files = ["--browser-bundle-files", "context.md", "--browser-bundle-format", "zip"]
    if "file" in spec:
        expect("a file", files, ["change"], spec["file"], lambda one: one["files"] == 1)
    else:
        expect("a file", files, ["pointerdown"], spec["attach"], lambda _: True)
    expect("a prompt", [], ["written"], spec["composer"], lambda one: "the composer?" in one["words"])
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--pages", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    found = sorted(path.stem for path in args.pages.glob("*.html"))
    if set(found) != set(PAGES):
        sys.exit(f"captured: nothing is known of {sorted(set(found) ^ set(PAGES))}")
    chosen = [name for name in found if not args.names or any(part in name for part in args.names)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(args.pages.resolve())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        world = World(str((args.bin / "git-oracle").resolve()), server, pathlib.Path(folder))
        for name in chosen:
            spec = PAGES[name]
            wrong = answers(world, name, spec) + (controls(world, name, spec) if "composer" in spec else [])
            failed += bool(wrong)
            print("FAIL" if wrong else "PASS", name, *wrong, sep="\n  " if wrong else " ", flush=True)
    print(f"captured: {len(chosen) - failed}/{len(chosen)} passed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
