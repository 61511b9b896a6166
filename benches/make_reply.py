#!/usr/bin/env python3
"""Makes a repository, a clean patch of a given size for it, and replies around patches.

In DIR: `repo/` with the files committed, `change.patch` as `git diff` prints it, `reply.md` with that patch in a fence,
and for each --prose a reply of so many megabytes of prose and code blocks with a patch of one file in it.
"""
import argparse
import pathlib
import random
import subprocess

LINE = "    let value_{0} = compute(input_{1}, {2}); // {3}\n"
WORDS = "the parser keeps a list of tokens and every rule reads them in order until one of them does not fit".split()


def git(repo, *args, **options):
    return subprocess.run(["git", "-C", str(repo), *args], check=True, capture_output=True, **options).stdout


def source(chance, lines):
    return [LINE.format(n, chance.randrange(99), chance.randrange(9999), chance.choice(WORDS)) for n in range(lines)]


def prose(chance, megabytes):
    parts, size = [], 0
    while size < megabytes * 1_000_000:
        words = " ".join(chance.choice(WORDS) for _ in range(120))
        part = words + ".\n\n```rust\n" + "".join(source(chance, 20)) + "```\n\n"
        parts.append(part)
        size += len(part)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--files", type=int, required=True, help="files that the patch changes")
    parser.add_argument("--prose", type=int, nargs="*", default=[], help="megabytes of prose, one reply for each")
    args = parser.parse_args()
    chance = random.Random(7)
    repo = args.dir / "repo"
    repo.mkdir(parents=True)
    git(repo, "init", "-q")
    changed = {}
    for number in range(args.files):
        path = repo / f"src/part{number // 100}/file{number}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = source(chance, 400)
        path.write_text("".join(lines))
        for at in range(20, 400, 40):
            lines[at] = "    changed();\n" + lines[at].replace("value", "other")
        changed[path] = "".join(lines)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Before")
    for path, text in changed.items():
        path.write_text(text)
    patch = git(repo, "diff")
    git(repo, "checkout", "-q", ".")
    (args.dir / "change.patch").write_bytes(patch)
    (args.dir / "reply.md").write_bytes(b"Here is the change.\n\n```diff\n" + patch + b"```\n\nTell me how it goes.\n")
    one = patch[: patch.index(b"diff --git", 1)] if patch.count(b"diff --git") > 1 else patch
    for megabytes in args.prose:
        parts = prose(chance, megabytes)
        parts.insert(len(parts) // 2, "Here is the change:\n\n```diff\n" + one.decode() + "```\n\n")
        (args.dir / f"prose-{megabytes}.md").write_text("".join(parts))


if __name__ == "__main__":
    main()
