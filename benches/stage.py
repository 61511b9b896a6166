#!/usr/bin/env python3
"""Writes an index with COUNT edited files on top of HEAD, as git has it when it calls pre-commit: its trees are written.

The edits are spread evenly over the packages; where there are not files enough, new ones are added. What is edited lies
as loose objects, as after `git add` and `git commit`. Neither the index of the repository nor its files are touched.
"""
import argparse
import os
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo")
    parser.add_argument("count", type=int)
    parser.add_argument("index")
    args = parser.parse_args()

    def git(*words, **more):
        return subprocess.run(["git", "-C", args.repo, *words], stdout=subprocess.PIPE, check=True, **more).stdout

    paths = [p for p in git("ls-tree", "-rz", "--name-only", "HEAD").decode().split("\0") if p.startswith("pkg")]
    chosen = paths[::len(paths) // args.count] if args.count < len(paths) else list(paths)
    chosen = chosen[:args.count]
    asked = "".join("HEAD:%s\n" % path for path in chosen).encode()
    answer, texts = git("cat-file", "--batch", input=asked), []
    for _ in chosen:
        head, _, answer = answer.partition(b"\n")
        size = int(head.split()[2])
        texts.append(answer[:size] + b"// edited\n")
        answer = answer[size + 1:]
    for at in range(len(chosen), args.count):
        chosen.append("pkg0/added%d/file_%d.rs" % (at // 20, at))
        texts.append(b"// added %d\n" % at)
    stream = b"commit refs/bench/staged\ncommitter Bench <bench@example.org> 1790000000 +0000\ndata 0\nfrom HEAD^0\n"
    for path, text in zip(chosen, texts):
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text)
    git("-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet", "--force", input=stream)
    git("read-tree", "refs/bench/staged", env={**os.environ, "GIT_INDEX_FILE": os.path.abspath(args.index)})
    git("update-ref", "-d", "refs/bench/staged")


if __name__ == "__main__":
    main()
