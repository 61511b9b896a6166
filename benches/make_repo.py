#!/usr/bin/env python3
"""Builds the repository a benchmark runs in, or finds it in the cache, and prints its folder.

The folder holds `repo` (branch main, tag base: `base..main` is --commits long, merges and their side branches
included; one edited and one untracked file lie on disk) and `contract.json`, which allows every package.
The same arguments give the same objects, on every machine.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

VERSION = 1  # part of the folder's name: raise it when the generated content changes
# No word here may look like a test, fixture, snapshot or eval path: the gate protects those.
WORDS = """account buffer cache channel client cluster codec cursor device driver engine entry event field filter
frame graph handle header index input item key layer layout ledger limit line list loader memory message meter model
module node object order output packet page parser path pool port queue reader record region relay route schema
session shape signal slot source span stage store stream switch symbol table task thread token trace track tree unit
value vector view window worker writer""".split()
LINES = ["let {0}_{1} = {2}.{3}({n});", "    {0}.{1}({2}, {n})?;", "if {0}.{1} > {n} {{", "}}", "",
         "fn {0}_{1}({2}: &str, {3}: u32) -> bool {{", "    return {0}[{n}].{1};", "// The {0} keeps its {1} until the {2} is done.",
         "    // A {0} without {1} is a {2}, see {3} {n}.", "        for {0} in {1}.{2}() {{", "const {0}_{1}: usize = {n};"]


def packages(files):
    """Returns the names of the top folders: ten, or fewer where there are not files enough for ten."""
    return ["pkg%d" % i for i in range(min(10, files // 25))]


class Tree:
    """The files at the tip and their text; what was never edited is made from the seed when it is needed."""

    def __init__(self, files, seed):
        self.seed, self.rng = seed, random.Random(seed)
        rng = random.Random("lines")
        self.lines = [rng.choice(LINES).format(*rng.sample(WORDS, 4), n=rng.randrange(1000)) for _ in range(4000)]
        self.width = sum(len(line) + 1 for line in self.lines) / len(self.lines)
        self.text = {".gitignore": ["target/", "*.o", "*.log"], "README.md": ["# Bench", "", "Made by make_repo.py."]}
        self.packages = packages(files)
        self.names, self.folders = {}, {p: [] for p in self.packages}
        parents, left = list(self.packages), files - len(self.text)
        while left > 0:  # a new folder below a random older one, with about 12 files; a path has 3 to 5 parts
            count = len(self.names)
            parent = self.rng.choice(parents) if count >= len(self.packages) else self.packages[count]
            folder = "%s/%s" % (parent, self.rng.choice(WORDS))
            if folder in self.names:
                folder += str(len(self.names))
            if folder.count("/") < 3:
                parents.append(folder)
            self.folders[folder.split("/")[0]].append(folder)
            self.names[folder] = []
            for _ in range(min(left, self.rng.randint(4, 20))):
                self.add(folder)
                left -= 1

    def add(self, folder):
        while True:
            name = "%s_%s.%s" % (*self.rng.sample(WORDS, 2), self.rng.choice(("rs", "py", "ts", "c", "h", "md")))
            if name not in self.names[folder]:
                self.names[folder].append(name)
                return folder + "/" + name

    def read(self, path):
        """Returns the lines of a file, or None when it was deleted."""
        return self.text[path] if path in self.text else self.fresh(path)

    def fresh(self, path):
        """Returns the first text of a file: 0.2 to 8 KB, small ones more often."""
        rng = random.Random("%d:%s" % (self.seed, path))
        size = math.exp(rng.uniform(math.log(320), math.log(6800)))
        return ["// %s" % path] + rng.choices(self.lines, k=int(size / self.width))

    def change(self, packages):
        """Makes the changes of one commit, most of them in one folder; returns the paths."""
        rng, paths = self.rng, set()
        home = rng.choice(self.folders[rng.choice(packages)])
        for _ in range(rng.choices(range(1, 9), (30, 20, 15, 10, 8, 7, 5, 5))[0]):
            folder = home if rng.random() < 0.7 else rng.choice(self.folders[rng.choice(packages)])
            names = self.names[folder]
            kind = rng.choices(("edit", "add", "delete", "rename"), (88, 5, 3, 4))[0] if names else "add"
            old = None if kind == "add" else folder + "/" + rng.choice(names)
            if old in paths:
                continue
            lines = list(self.read(old)) if old else None
            if kind == "edit":
                for _ in range(rng.randint(1, 3)):
                    at = rng.randrange(len(lines))
                    lines[at:at + rng.randint(0, 1)] = rng.choices(self.lines, k=rng.randint(1, 2))
                self.text[old] = lines
            if kind in ("delete", "rename"):
                names.remove(os.path.basename(old))
                self.text[old] = None
            if kind in ("add", "rename"):
                new = self.add(folder if kind == "add" else rng.choice(self.folders[rng.choice(packages)]))
                self.text[new] = lines or self.fresh(new)
                paths.add(new)
            paths.add(old)
        return paths - {None}


def write_history(tree, commits, out):
    """Writes the base commit and `commits` more as a fast-import stream."""
    def commit(mark, parents, paths):
        out.write(b"commit refs/heads/main\nmark :%d\ncommitter Bench <bench@example.org> %d +0000\n"
                  % (mark, 1700000000 + 600 * mark))
        message = b"Change %d\n\nTouches %d files.\n" % (mark, len(paths))
        out.write(b"data %d\n%s" % (len(message), message))
        for word, parent in zip((b"from", b"merge"), parents):
            out.write(b"%s :%d\n" % (word, parent))
        for path in sorted(paths):
            lines = tree.read(path)
            if lines is None:
                out.write(b"D %s\n" % path.encode())
            else:
                data = "\n".join(lines + [""]).encode()
                out.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))

    commit(1, [], [f + "/" + n for f, names in tree.names.items() for n in names] + list(tree.text))
    out.write(b"reset refs/tags/base\nfrom :1\n\n")
    tip, side = 1, None
    for mark in range(2, commits + 2):
        left = commits + 2 - mark
        if side is None and left > 12 and tree.rng.random() < 0.06:
            # A side branch keeps to one package and main to the others meanwhile, so that they merge cleanly.
            side = {"tip": tip, "left": tree.rng.randint(1, 5), "package": tree.rng.choice(tree.packages), "paths": set()}
        if side and side["left"] == 0:
            commit(mark, [tip, side["tip"]], side["paths"])
            tip, side = mark, None
        elif side and (left <= side["left"] + 1 or tree.rng.random() < 0.5):
            paths = tree.change([side["package"]])
            commit(mark, [side["tip"]], paths)
            side.update(tip=mark, left=side["left"] - 1, paths=side["paths"] | paths)
        else:
            commit(mark, [tip], tree.change([p for p in tree.packages if not side or p != side["package"]]))
            tip = mark


def contract(allowed, baseline):
    return {
        "task_id": "bench-gate",
        "owner_agent": {"role": "PM", "agent_id": "agent-1"},
        "assigned_agent": {"role": "WORKER", "agent_id": "agent-2"},
        "inputs": {"spec": "change any package", "artifacts": []},
        "required_outputs": [{"name": "patch", "type": "patch", "acceptance": "tests pass"}],
        "allowed_paths": [p + "/" for p in allowed],
        "forbidden_actions": ["rm -rf", "sudo"],
        "acceptance_tests": [{"name": "unit", "cmd": "cargo test", "must_pass": True}],
        "tool_permissions": {"filesystem": "workspace-write", "shell": "never", "network": "deny", "mcp_tools": []},
        "timeout_retry": {"timeout_sec": 600, "max_retries": 1, "retry_backoff_sec": 0},
        "rollback": {"strategy": "git_reset_hard", "baseline_ref": baseline},
        "evidence_links": [],
        "log_refs": {"run_id": "run-0001", "paths": {}},
        "mcp_tool_set": ["codex"],
    }


def git(repo, *args, ok=(0,)):
    done = subprocess.run(["git", "-C", repo, *args], stdout=subprocess.PIPE, check=False)
    if done.returncode not in ok:
        sys.exit("make_repo: git %s: exit %d" % (" ".join(args), done.returncode))
    return done.stdout.decode().strip()


def build(folder, files, commits, seed):
    started, repo = time.monotonic(), os.path.join(folder, "repo")

    def step(text):
        print("make_repo: %5.1f s  %s" % (time.monotonic() - started, text), file=sys.stderr, flush=True)

    step("%d files, %d commits into %s" % (files, commits, folder))
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    tree = Tree(files, seed)
    importer = subprocess.Popen(["git", "-C", repo, "fast-import", "--quiet"], stdin=subprocess.PIPE)
    write_history(tree, commits, importer.stdin)
    importer.stdin.close()
    if importer.wait() != 0 or git(repo, "rev-list", "--count", "base..main") != str(commits):
        sys.exit("make_repo: git fast-import failed")
    step("repack")
    git(repo, "repack", "-adfq")  # -f: deltas as a server makes them, not those of fast-import
    step("checkout")
    git(repo, "checkout", "-qf", "main")
    target = next(f for f in tree.folders["pkg0"] if tree.names[f])
    with open(os.path.join(repo, target, tree.names[target][0]), "a") as file:
        file.write("// edited\n")
    with open(os.path.join(repo, target, "untracked_note.md"), "w") as file:
        file.write("A new file.\n")
    with open(os.path.join(folder, "contract.json"), "w") as file:
        json.dump(contract(tree.packages, git(repo, "rev-parse", "base")), file, indent=1)
    os.sync()  # the disk must be quiet when the measuring starts
    step("done")


def settle(repo):
    """Leaves an index that is younger than every file, so that nobody must read a file to know it is clean."""
    index = os.path.join(repo, ".git", "index")
    git(repo, "status", "--porcelain")
    time.sleep(1.1)
    git(repo, "update-index", "-q", "--refresh", ok=(0, 1))
    before = os.stat(index).st_mtime_ns
    changes = git(repo, "status", "--porcelain").splitlines()
    if os.stat(index).st_mtime_ns != before or sorted(c.split()[0] for c in changes) != ["??", "M"]:
        sys.exit("make_repo: %s is not as it was built, remove it" % repo)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", default=os.path.join(os.environ.get("TMPDIR") or "/tmp", "git-oracle-bench"))
    args = parser.parse_args()
    if args.files < 50:
        parser.error("two packages need at least 50 files")
    os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    folder = os.path.join(os.path.abspath(args.cache), "v%d-f%d-c%d-s%d" % (VERSION, args.files, args.commits, args.seed))
    if not os.path.exists(folder):
        unfinished = "%s.%d" % (folder, os.getpid())
        os.makedirs(unfinished)
        try:
            build(unfinished, args.files, args.commits, args.seed)
            os.rename(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    settle(os.path.join(folder, "repo"))
    print(folder)


if __name__ == "__main__":
    main()
