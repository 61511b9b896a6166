#!/usr/bin/env python3
"""Reviews a branch on replicas of the chat pages through the real driver, and looks at what came of it.

usage: reviews.py --bin DIR --replicas DIR [NAME…]    NAMEs choose the reviews whose name contains one of them

Each story is told on each page, in a repository of its own with a bare remote. Checked are the exit code, the status, the
number of sends, the branch here and on the remote, and result.json against its schema where there is a validator. The last
line is `reviews: P/N passed`.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

CI = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("replicas", CI / "replicas.py")
replicas = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replicas)

PAGES = {"chatgpt": "section", "copilot": "2026", "gemini": "v12"}


def patch(path, before, after):
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n # {path}\n-{before}\n+{after}\n end\n"


def answer(*patches):
    return "{{REQUEST_ID}}\n\nThis mends it.\n\n```diff\n" + "".join(patches) + "```\n\n{{REQUEST_ID}}"


GOOD, OTHER = patch("src/a.txt", "one", "fixed"), patch("src/b.txt", "one", "two")
OUTSIDE, BAD = patch("docs/c.txt", "one", "two"), patch("src/a.txt", "one", "broken")
WORDS = "{{REQUEST_ID}}\n\nLooks good to me.\n\n{{REQUEST_ID}}"
QUESTIONS = "{{REQUEST_ID}}\n\nWhich file do you mean? Should the old one stay?\n\n{{REQUEST_ID}}"

# name, answers, what happens before, expected: exit code, status, sends, whether the branch has a new commit, whether the
# remote has it too, and files with their second line.
STORIES = [
    ("good", [answer(GOOD)], "", 0, "success", 1, True, True, {"src/a.txt": "fixed"}),
    ("missing", [WORDS, answer(GOOD)], "", 0, "success", 2, True, True, {"src/a.txt": "fixed"}),
    ("outside", [answer(GOOD, OUTSIDE), answer(OTHER)], "", 0, "success", 2, True, True,
     {"src/a.txt": "fixed", "src/b.txt": "two", "docs/c.txt": "one"}),
    ("failing", [answer(BAD), answer(GOOD)], "", 0, "success", 2, True, True, {"src/a.txt": "fixed"}),
    ("questions", [QUESTIONS, answer(GOOD)], "", 0, "success", 2, True, True, {"src/a.txt": "fixed"}),
    ("limit", [WORDS], "", 2, "diff_missing", 3, False, False, {"src/a.txt": "one"}),
    ("refused-push", [answer(GOOD)], "printf '#!/bin/sh\\nexit 1\\n' >../remote.git/hooks/pre-receive; chmod +x ../remote.git/hooks/pre-receive",
     9, "push_failed", 1, True, False, {"src/a.txt": "fixed"}),
    ("refused-commit", [answer(GOOD)], "printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
     5, "commit_failed", 1, False, False, {"src/a.txt": "one"}),
]

SETUP = r"""
set -e
git init -q --bare -b main remote.git
git init -q -b main repo
cd repo
mkdir src docs
for file in src/a.txt src/b.txt docs/c.txt; do printf '# %s\none\nend\n' $file >$file; done
git add -A; git commit -q -m Begin
git remote add origin ../remote.git; git push -q origin main
git switch -q -c feature; echo more >>docs/c.txt; git commit -q -a -m Change; git push -q -u origin feature
git oracle contract new --task 'Mend it' --allow src/ --test 'grep -q fixed src/a.txt' --activate >/dev/null 2>&1
"""


def environment(program, home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "ORACLE_", "OPENAI_"))}
    names = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))}
    return {**kept, **names, "HOME": str(home), "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": f"{program}:{kept['PATH']}"}


def tell(program, base, page, story, scratch, validate):
    """Returns what is not as the story expects."""
    name, _, before, code, status, sends, committed, pushed, files = story
    body = json.dumps({"name": f"{page}-{name}"}).encode()
    urllib.request.urlopen(urllib.request.Request(base + "/__replica/scenario", data=body)).read()
    world = scratch / f"{page}-{name}"
    (world / "home").mkdir(parents=True)
    env = environment(program, world / "home")
    subprocess.run(["sh", "-c", SETUP], cwd=world, env=env, check=True)
    subprocess.run(["sh", "-c", before], cwd=world / "repo", env=env, check=True)
    git = lambda *args: subprocess.run(["git", *args], cwd=world / "repo", env=env, capture_output=True, text=True).stdout.strip()
    head = git("rev-parse", "HEAD")
    ran = subprocess.run(["git", "oracle", "review", "--page", page, "--browser-url", base + replicas.PATHS[page], "--slug", "under review",
                          "--apply-mode", "commit", "--json"], cwd=world / "repo", env=env, capture_output=True, text=True)
    try:
        result = json.loads(ran.stdout)
    except ValueError:
        return ["no result: " + ran.stderr[-300:]]
    log = json.loads((scratch / "log.json").read_text())["sends"]
    seen = {"exit": (ran.returncode, code), "status": (result["status"], status), "sends": (len(log), sends),
            "new commit": (git("rev-parse", "HEAD") != head, committed), "tree": (git("status", "--short"), ""),
            "pushed": (git("--git-dir=../remote.git", "rev-parse", "feature") == git("rev-parse", "HEAD") != head, pushed),
            "turns": (result["turns"]["used"], sends)}
    for path, line in files.items():
        seen[path] = (git("show", f"HEAD:{path}").split("\n")[1], line)
    wrong = [f"{what}: {value!r} instead of {expected!r}" for what, (value, expected) in seen.items() if value != expected]
    if validate:
        wrong += [f"result.json: {error.message}" for error in validate.iter_errors(result)]
    shutil.rmtree(world)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--replicas", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    try:
        import jsonschema
        validate = jsonschema.Draft202012Validator(json.loads((CI.parent / "schemas/result.v1.json").read_text()))
    except ImportError:
        validate = None
        print("warning: result.json is not held against its schema, python has no jsonschema", file=sys.stderr)
    chosen = [(page, story) for page in PAGES for story in STORIES
              if not args.names or any(name in f"{page}-{story[0]}" for name in args.names)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "scenarios").mkdir()
        for page, story in chosen:
            scenario = {"name": f"{page}-{story[0]}", "page": page, "variant": PAGES[page],
                        "replies": [{"markdown": text} for text in story[1]], "expect": {}}
            (scratch / "scenarios" / f"{scenario['name']}.json").write_text(json.dumps(scenario))
        first = f"{chosen[0][0]}-{chosen[0][1][0]}"
        server, port = replicas.start(args.replicas, scratch, "--scenarios", str(scratch / "scenarios"), scenario=first)
        try:
            failed = 0
            for page, story in chosen:
                wrong = tell(args.bin.resolve(), f"http://127.0.0.1:{port}", page, story, scratch, validate)
                failed += bool(wrong)
                print("FAIL" if wrong else "PASS", f"{page}-{story[0]}", *wrong, flush=True)
        finally:
            server.terminate()
            server.wait()
    print(f"reviews: {len(chosen) - failed}/{len(chosen)} passed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
