#!/usr/bin/env python3
"""Asks the rehearsal page in a real browser and prints a table of how long everything took. See transport.sh."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

EDITORS = {"contenteditable": "ProseMirror", "textarea": "textarea", "quill": "Quill"}
REPLY = "{{REQUEST_ID}}\n\n" + "A line of the answer, with `code` in it.\n\n" * 40 + "{{REQUEST_ID}}"
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def page(program, script, sent):
    """Runs the page with this script and yields its address; what it was sent is put into `sent`."""
    server = subprocess.Popen([program, json.dumps(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
        sent.update(json.loads(server.communicate()[0]))
    finally:
        server.kill()
        server.wait()


def reply(**more):
    return {"markdown": REPLY, **more}


class Asker:
    """Asks in a home of its own, whose browser profile is used again."""

    def __init__(self, args, scratch):
        self.program, self.home, self.count = args.page, scratch / "home", 0
        self.home.mkdir(parents=True)
        self.work = scratch / "work"
        self.work.mkdir()
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        self.env = {**os.environ, "HOME": str(self.home)}

    def start(self, url, prompt):
        self.count += 1
        file = self.work / "prompt.md"
        file.write_text(prompt)
        slug = f"run-{self.count}"
        args = ["git-oracle", "ask", "--page", "rehearsal", "--browser-url", url, "--slug", slug, "--json", "-p", f"@{file}"]
        ran = subprocess.Popen(args, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return ran, self.home / ".oracle/sessions" / slug

    def ask(self, script, prompt):
        """Asks once and returns the metrics, the ledger and what the page saw, all of it checked."""
        sent = {}
        with page(self.program, script, sent) as url:
            ran, session = self.start(url, prompt)
            said, complaint = ran.communicate()
        if ran.returncode != 0:
            sys.exit(f"transport: {said}{complaint}")
        request, response = (session / name for name in ("request-1.md", "response-1.md"))
        if sent["prompts"] != [request.read_text()] or prompt.strip() not in sent["prompts"][0]:
            sys.exit("transport: the prompt did not reach the page exactly once and exactly as it is")
        if response.read_text().strip() != REPLY.replace("{{REQUEST_ID}}", json.loads(said)["requestId"]):
            sys.exit("transport: the answer did not come home exactly")
        ledger = [json.loads(line) for line in (session / "ledger.jsonl").read_text().splitlines()]
        return json.loads((session / "metrics.json").read_text()), ledger, sent


def milliseconds(ledger, step):
    at = next(line["at"] for line in ledger if line["step"] == step)
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() * 1000


def text_of(size):
    lines = [f"{number:06} <b>words</b> & a \"quote\", a tab:\t".ljust(39)[:39] + "\n" for number in range(size // 40)]
    return "".join(lines)


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, values, unit, limit=None):
        median = statistics.median(values)
        target = "" if limit is None else f"≤ {limit:,}, {'met' if median <= limit else 'MISSED'}"
        shown = lambda value: f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
        self.rows.append([what, unit, shown(median), shown(max(values)), target, str(len(values))])
        print("transport: " + " ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def __str__(self):
        lines = [["", "unit", "median", "worst", "target", "runs"]] + self.rows
        wide = [max(len(line[i]) for line in lines) for i in range(6)]
        left = {0, 1, 4}
        lines = [[c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, wide))] for line in lines]
        lines.insert(1, ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(wide)])
        return "".join("| %s |\n" % " | ".join(line) for line in lines)


def answers(asker, runs, table, quiet):
    """By the page's clock and ours, which are one."""
    waits, captures = [], []
    for _ in range(runs + 1):
        metrics, ledger, sent = asker.ask({"replies": [reply(chunk=60, every_ms=20)]}, "How soon?")
        ended = next(float(event.split()[-1]) for event in sent["events"] if event.startswith("ended at "))
        waits.append(milliseconds(ledger, "captured") - ended)
        captures.append(metrics["captureMs"])
    # The first one warms up.
    table.add(f"end of streaming to captured answer, of which {quiet} ms are the quiet window", waits[1:], "ms", quiet + 50)
    table.add("the capture alone", captures[1:], "ms")


def typing(asker, runs, table):
    for size, limit in ((20_000, None), (200_000, 2000)):
        for editor, name in EDITORS.items():
            times = [asker.ask({"editor": editor, "replies": [reply()]}, text_of(size))[0]["typeMs"] for _ in range(runs)]
            table.add(f"{size // 1000} KB typed and read back, {name}", times, "ms", limit)


def starts(args, runs, table, scratch):
    new, used = [], []
    for number in range(runs):
        asker = Asker(args, scratch / f"start-{number}")
        for times in (new, used):
            metrics, _, _ = asker.ask({"replies": [reply()]}, "Are you there?")
            times.append(metrics["startMs"] + metrics["readyMs"])
    table.add("start to a page that can be used, new profile", new, "ms")
    table.add("start to a page that can be used, used profile", used, "ms")


def family(pid):
    """Returns a process and everything that it started, without the dead."""
    found = [pid]
    for one in found:
        for thread in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, thread.read_text().split())
    return found


def memory(pids):
    """Returns the megabytes that only these processes use, and their share of what they have in common with others."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    return total / 1024


def busy(pids):
    """Returns the milliseconds of processor time that these processes have used."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
    return total * 1000 / TICKS


def idle(asker, runs, table, seconds=8):
    ours, theirs, our_time, their_time = [], [], [], []
    for _ in range(runs):
        with page(asker.program, {"replies": [reply(start_ms=3_600_000)]}, {}) as url:
            ran, session = asker.start(url, "Think about it.")
            while not (session / "ledger.jsonl").exists() or '"committed"' not in (session / "ledger.jsonl").read_text():
                if ran.poll() is not None:
                    sys.exit(f"transport: {ran.communicate()}")
                time.sleep(0.05)
            time.sleep(2)
            rest = family(ran.pid)[1:]
            before = busy([ran.pid]), busy(rest)
            time.sleep(seconds)
            our_time.append((busy([ran.pid]) - before[0]) / seconds)
            their_time.append((busy(rest) - before[1]) / seconds)
            ours.append(memory([ran.pid]))
            theirs.append(memory(rest))
            ran.terminate()
            ran.communicate()
    table.add("memory of git-oracle while it waits", ours, "MB")
    table.add("memory of its guard, the driver and the browser", theirs, "MB")
    table.add("processor time of git-oracle while it waits, of each second", our_time, "ms", 10)
    table.add("the same of its guard, the driver and the browser", their_time, "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--page", "--profile", "--scratch", "--only", "--called"):
        parser.add_argument(name, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--markdown")
    args = parser.parse_args()
    wanted = lambda part: args.only in ("", part)
    quiet = int(re.search(r"^short_ms = (\d+)", pathlib.Path(args.profile).read_text(), re.M)[1])
    few, table = max(1, args.runs // 4), Table()
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        scratch = pathlib.Path(folder)
        asker = Asker(args, scratch / "main")
        if wanted("answer"):
            answers(asker, args.runs, table, quiet)
        if wanted("typing"):
            typing(asker, few, table)
        if wanted("start"):
            starts(args, few, table, scratch)
        if wanted("idle"):
            idle(asker, max(1, few // 2), table)
    version = subprocess.run(["git-oracle", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    text = f"`{args.called}`: {version}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs.\n\n{table}"
    print(text, end="")
    if args.markdown:
        pathlib.Path(args.markdown).write_text(text)


if __name__ == "__main__":
    main()
