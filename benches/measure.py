#!/usr/bin/env python3
"""Times commands against each other and prints a table of medians, 90th percentiles, ratios and peak memory.

Each --row is one command: its group, name, working directory, accepted exit codes ("0,7"), what it is compared with,
the highest ratio allowed ("-" for none; "1.5 ms" for a time instead of a ratio), and the command line, which may begin
with NAME=VALUE words and end with "< FILE". A row is compared with another row of its group ("NAME"), with nothing
("-"), or with what another row adds to a third one ("NAME over FLOOR").
Each --size says how many bytes a row reads, so that its megabytes per second are shown.
Each --before is a line of shell that is run before each run of a row and is not timed: it puts things back.
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
PR_SET_CHILD_SUBREAPER = 36


class Row:
    def __init__(self, group, name, cwd, exits, base, limit, command):
        self.group, self.name, self.cwd = group, name, cwd
        self.base, _, self.floor = base.partition(" over ")
        self.exits, self.limit, self.before, self.size = {int(code) for code in exits.split(",")}, limit, None, None
        self.argv, self.environment, self.stdin = shlex.split(command), dict(os.environ), os.devnull
        while "=" in self.argv[0]:
            variable, _, value = self.argv.pop(0).partition("=")
            self.environment[variable] = value
        if self.argv[-2:-1] == ["<"]:
            self.stdin = self.argv.pop()
            self.argv.pop()
        self.program = shutil.which(self.argv[0]) or sys.exit("measure: no such program: " + self.argv[0])
        self.ms, self.seen, self.peak = [], set(), 0

    def prepare(self):
        os.chdir(self.cwd)
        if self.before:
            subprocess.run(["sh", "-ec", self.before], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    def spawn(self, program, argv):
        files = [(os.POSIX_SPAWN_OPEN, 0, self.stdin, os.O_RDONLY, 0)]
        files += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
        return os.posix_spawn(program, argv, self.environment, file_actions=files)

    def run(self):
        self.prepare()
        start = time.perf_counter()
        _, status = os.waitpid(self.spawn(self.program, self.argv), 0)
        self.ms.append((time.perf_counter() - start) * 1000)
        self.seen.add(os.waitstatus_to_exitcode(status))
        if not self.seen <= self.exits:
            self.prepare()
            with open(self.stdin) as file:
                said = subprocess.run(self.argv, env=self.environment, stdin=file, capture_output=True, text=True, errors="replace")
            sys.exit("measure: %s: exit %s\n%s%s" % (shlex.join(self.argv), self.seen, said.stdout[:2000], said.stderr[:2000]))

    def run_for_memory(self):
        """Runs below a shell that leaves its child to us: Linux counts the memory of whoever called exec, and Python's is large."""
        self.prepare()
        shell = self.spawn("/bin/sh", ["sh", "-c", '"$@" <"$0" &', self.stdin, self.program, *self.argv[1:]])
        ended = {pid: usage.ru_maxrss for pid, _, usage in (os.wait4(-1, 0), os.wait4(-1, 0))}
        self.peak = max(kb for pid, kb in ended.items() if pid != shell)

    def median(self):
        return statistics.median(self.ms)

    def cells(self, others):
        median, floor = self.median(), others[self.floor].median() if self.floor else 0
        ratio = (median - floor) / (others[self.base].median() - floor) if self.base != "-" else None
        return [self.group, "`%s`" % self.name, "%.2f" % median,
                "%.2f" % sorted(self.ms)[math.ceil(0.9 * len(self.ms)) - 1],
                "%.1f" % (self.size / 1000 / median) if self.size else "",
                "%+.2f" % (median - floor) if self.floor else "", "base" if ratio is None else "%.2f" % ratio,
                self.target(median, ratio), "%.1f" % (self.peak / 1024), ", ".join(map(str, sorted(self.seen))), str(len(self.ms))]

    def target(self, median, ratio):
        if self.limit == "-":
            return ""
        number, _, unit = self.limit.partition(" ")
        return "≤ %s, %s" % (self.limit, "met" if (median if unit else ratio) <= float(number) else "MISSED")


def measure(rows, runs):
    for row in rows * WARM_UP:
        row.run()
    rounds = runs * 10 if max(min(row.ms) for row in rows) < 10 else runs
    print("measure: %s: %d rounds" % (rows[0].group, rounds), file=sys.stderr, flush=True)
    for row in rows:
        row.run_for_memory()
        row.ms.clear()
    for turn in range(rounds):
        for row in rows[::-1] if turn % 2 else rows:
            row.run()


def table(rows):
    head = ["", "command", "median ms", "p90 ms", "MB/s", "added ms", "ratio", "target", "peak MB", "exit", "runs"]
    lines = [head] + [row.cells({other.name: other for other in rows if other.group == row.group}) for row in rows]
    unused = {"added ms"} - {"added ms" for row in rows if row.floor} | {"MB/s"} - {"MB/s" for row in rows if row.size}
    used = [i for i in range(len(head)) if head[i] not in unused]
    lines = [[line[i] for i in used] for line in lines]
    head = lines[0]
    wide = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 1, head.index("target")}
    lines = [[c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, wide))] for line in lines]
    lines.insert(1, ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(wide)])
    return "".join("| %s |\n" % " | ".join(line) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", nargs=7, action="append", required=True,
                        metavar=("GROUP", "NAME", "CWD", "EXITS", "BASE", "LIMIT", "COMMAND"))
    parser.add_argument("--before", nargs=3, action="append", default=[], metavar=("GROUP", "NAME", "SHELL"))
    parser.add_argument("--size", nargs=3, action="append", default=[], metavar=("GROUP", "NAME", "BYTES"))
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--note", default="", help="a paragraph above the table")
    parser.add_argument("--markdown", metavar="FILE", help="write the note and the table there too")
    args = parser.parse_args()
    markdown = args.markdown and os.path.abspath(args.markdown)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rows = [Row(*row) for row in args.row]
    sizes = {(group, name): int(size) for group, name, size in args.size}
    before = {(group, name): line for group, name, line in args.before}
    for row in rows:
        row.before = before.pop((row.group, row.name), None)
        row.size = sizes.get((row.group, row.name))
    if before:
        parser.error("--before without its --row: %s" % list(before))
    groups = [[row for row in rows if row.group == group] for group in dict.fromkeys(row.group for row in rows)]
    for group in groups:
        measure(group, args.runs)
    text = (args.note + "\n\n" if args.note else "") + table(sum(groups, []))
    print(text, end="")
    if markdown:
        with open(markdown, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
