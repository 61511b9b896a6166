#!/usr/bin/env python3
"""Times commands against each other and prints a table of medians, 90th percentiles, ratios and peak memory.

Each --row is one command: its group, name, working directory, accepted exit codes ("0,7"), the name of the row of the
same group that it is compared with and the highest ratio allowed ("-" for none), and the command line.
The commands of a group run in turns, each round in the opposite order of the last, so that a busy moment of the
machine meets all of them. Groups of very short commands get ten times the runs.
"""
import argparse
import ctypes
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time

WARM_UP = 2
NULL = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
PR_SET_CHILD_SUBREAPER = 36


class Row:
    def __init__(self, group, name, cwd, exits, base, limit, command):
        self.group, self.name, self.cwd, self.base = group, name, cwd, base
        self.exits, self.limit = {int(code) for code in exits.split(",")}, limit
        self.argv = shlex.split(command)
        self.program = shutil.which(self.argv[0]) or sys.exit("measure: no such program: " + self.argv[0])
        self.ms, self.seen, self.peak = [], set(), 0

    def run(self):
        os.chdir(self.cwd)
        start = time.perf_counter()
        pid = os.posix_spawn(self.program, self.argv, os.environ, file_actions=NULL)
        _, status = os.waitpid(pid, 0)
        self.ms.append((time.perf_counter() - start) * 1000)
        self.seen.add(os.waitstatus_to_exitcode(status))
        if not self.seen <= self.exits:
            said = subprocess.run(self.argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            sys.exit("measure: %s: exit %s\n%s%s" % (shlex.join(self.argv), self.seen, said.stdout[:2000], said.stderr[:2000]))

    def run_for_memory(self):
        """Runs below a shell that leaves its child to us: Linux counts the memory of whoever called exec, and Python's is large."""
        os.chdir(self.cwd)
        argv = ["sh", "-c", '"$@" &', "sh", self.program, *self.argv[1:]]
        shell = os.posix_spawn("/bin/sh", argv, os.environ, file_actions=NULL)
        ended = {pid: usage.ru_maxrss for pid, _, usage in (os.wait4(-1, 0), os.wait4(-1, 0))}
        self.peak = max(kb for pid, kb in ended.items() if pid != shell)

    def median(self):
        return statistics.median(self.ms)

    def cells(self, base):
        ratio = self.median() / base.median() if base else None
        target = "" if self.limit == "-" else "≤ %s, %s" % (self.limit, "met" if ratio <= float(self.limit) else "MISSED")
        return [self.group, "`%s`" % self.name, "%.2f" % self.median(),
                "%.2f" % sorted(self.ms)[math.ceil(0.9 * len(self.ms)) - 1], "%.2f" % ratio if base else "base", target,
                "%.1f" % (self.peak / 1024),
                ", ".join(map(str, sorted(self.seen))), str(len(self.ms))]


def measure(rows, runs):
    for row in rows * WARM_UP:
        row.run()
    rounds = runs * 10 if max(row.ms[-1] for row in rows) < 10 else runs
    print("measure: %s: %d rounds" % (rows[0].group, rounds), file=sys.stderr, flush=True)
    for row in rows:
        row.run_for_memory()
        row.ms.clear()
    for turn in range(rounds):
        for row in rows[::-1] if turn % 2 else rows:
            row.run()


def table(rows):
    head = ["", "command", "median ms", "p90 ms", "ratio", "target", "peak MB", "exit", "runs"]
    base = {(row.group, row.name): row for row in rows}
    lines = [head] + [row.cells(base[row.group, row.base] if row.base != "-" else None) for row in rows]
    wide = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 1, 5}
    lines = [[c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, wide))] for line in lines]
    lines.insert(1, ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(wide)])
    return "".join("| %s |\n" % " | ".join(line) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", nargs=7, action="append", required=True,
                        metavar=("GROUP", "NAME", "CWD", "EXITS", "BASE", "LIMIT", "COMMAND"))
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--note", default="", help="a paragraph above the table")
    parser.add_argument("--markdown", metavar="FILE", help="write the note and the table there too")
    args = parser.parse_args()
    markdown = args.markdown and os.path.abspath(args.markdown)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rows = [Row(*row) for row in args.row]
    for group in dict.fromkeys(row.group for row in rows):
        measure([row for row in rows if row.group == group], args.runs)
    text = (args.note + "\n\n" if args.note else "") + table(rows)
    print(text, end="")
    if markdown:
        with open(markdown, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
