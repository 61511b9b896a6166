#!/usr/bin/env python3
"""Runs secret scanners over the same files and prints what each costs; `secrets.sh` explains how."""
import argparse
import hashlib
import os
import random
import resource
import shutil
import string
import subprocess
import sys
import time
import zlib

TEXT = (".rs", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".c", ".h", ".py", ".js", ".html", ".lock", ".sh")
FAMILY = string.digits + string.ascii_uppercase + string.ascii_lowercase

parser = argparse.ArgumentParser()
parser.add_argument("--cache", required=True)
parser.add_argument("--runs", type=int, required=True)
parser.add_argument("--megabytes", type=int, required=True)
parser.add_argument("--only", default="")
parser.add_argument("--called", required=True)
parser.add_argument("--markdown")
options = parser.parse_args()


def make_text(folder, megabytes):
    """Copies ordinary text from the sources that cargo has unpacked."""
    source = os.path.join(os.environ["CARGO_HOME"], "registry", "src")
    found = []
    for directory, _, names in os.walk(source):
        for name in names:
            path = os.path.join(directory, name)
            if name.endswith(TEXT) and not os.path.islink(path) and 0 < os.path.getsize(path) < 1_500_000:
                found.append((hashlib.sha256(os.path.relpath(path, source).encode()).hexdigest(), path))
    size = 0
    for digest, path in sorted(found):
        if size > megabytes * 1_000_000:
            break
        target = os.path.join(folder, digest[:2], digest[2:10] + "-" + os.path.basename(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, target)
        size += os.path.getsize(path)
    if size < megabytes * 900_000:
        sys.exit(f"secrets.sh: only {size / 1e6:.1f} MB of text in {source}; cargo fetch brings more")


def token():
    """A token of the form that GitHub's have, with its checksum."""
    body = "".join(random.Random(11).choices(FAMILY, k=30))
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = FAMILY[digit] + digits
    return "ghp" + "_" + body + digits


def make_files(folder, text):
    """Takes 20 files of 5 KB from the text and puts a token into one; they are staged in a repository."""
    os.makedirs(folder)
    found = sorted(os.path.join(directory, name) for directory, _, names in os.walk(text) for name in names)
    chosen = [path for path in found if 5_000 < os.path.getsize(path)][:20]
    for number, path in enumerate(chosen):
        with open(path, "rb") as source, open(os.path.join(folder, f"file{number}.rs"), "wb") as target:
            target.write(source.read(5_100))
            if number == 7:
                target.write(f'\nlet token = "{token()}";\n'.encode())
    git = ["git", "-C", folder]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "empty"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)


def commands(folder):
    """The scanners, with what each needs to read these files and nothing else."""
    files = sorted(os.path.join(directory, name) for directory, dirs, names in os.walk(folder)
                   if ".git" not in directory for name in names)
    # A command line has a limit; whoever takes no folders is started as often as it needs.
    batches = [files[at:at + 500] for at in range(0, len(files), 500)]
    secretlint = os.path.join(options.cache, "secretlint.json")
    with open(secretlint, "w", encoding="utf-8") as file:
        file.write('{"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}')
    every = {
        "git-oracle": [["git-oracle", "scan", "-q", "."]],
        "kingfisher": [["kingfisher", "scan", "--no-validate", "--quiet", "--format", "jsonl", "."]],
        "ripsecrets": [["ripsecrets", "."]],
        "gitleaks": [["gitleaks", "dir", ".", "--no-banner", "-l", "error"]],
        "detect-secrets": [["detect-secrets", "scan", "-n", "--all-files", "."]],
        "secretlint": [["secretlint", "--secretlintrc", secretlint, "--no-glob", *batch] for batch in batches],
    }
    return every


def run(cwd, argvs):
    """Returns wall seconds and processor seconds of some commands, and their last exit code."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for argv in argvs:
        code = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code


def best(cwd, argvs, runs):
    times = [run(cwd, argvs) for _ in range(runs)]
    return min(time[0] for time in times), min(time[1] for time in times), times[0][2]


def wanted(part):
    return options.only in ("", part)


lines = []
text = os.path.join(options.cache, f"text{options.megabytes}")
if not os.path.isdir(text):
    make_text(text + ".new", options.megabytes)
    os.rename(text + ".new", text)
few = os.path.join(options.cache, f"files{options.megabytes}")
if not os.path.isdir(few):
    shutil.rmtree(few + ".new", ignore_errors=True)
    make_files(few + ".new", text)
    os.rename(few + ".new", few)
size = sum(os.path.getsize(os.path.join(directory, name)) for directory, _, names in os.walk(text) for name in names)
missing = [name for name in commands(few) if not shutil.which(name)]
version = subprocess.run(["git-oracle", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
note = f"`{options.called}`: {version}, {os.uname().sysname} {os.uname().machine}, {os.cpu_count()} CPUs. The best of several runs."
if missing:
    note += f" Not found: {', '.join(missing)}."
lines += [note, ""]
if wanted("text"):
    lines += [f"| {size / 1e6:.1f} MB of ordinary text | CPU seconds | MB per CPU second | wall seconds |", "|---|--:|--:|--:|"]
    for name, argvs in commands(text).items():
        if name in missing:
            continue
        wall, cpu, _ = best(text, argvs, options.runs if name in ("git-oracle", "kingfisher") else 1)
        target = (", met" if size / 1e6 / cpu >= 100 else ", MISSED") if name == "git-oracle" else ""
        lines.append(f"| {name}{' (target: at least 100' + target + ')' if target else ''} | {cpu:.2f} | {size / 1e6 / cpu:.1f} | {wall:.2f} |")
    lines.append("")
if wanted("files"):
    lines += ["| 20 files, 100 KB, one token | wall ms | CPU ms | exit |", "|---|--:|--:|--:|"]
    for name, argvs in commands(few).items():
        if name in missing:
            continue
        wall, cpu, code = best(few, argvs, options.runs * (10 if name == "git-oracle" else 1))
        lines.append(f"| {name} | {wall * 1000:.1f} | {cpu * 1000:.1f} | {code} |")
    lines.append("")
if wanted("staged"):
    lines += ["| the same, staged | wall ms | CPU ms | exit |", "|---|--:|--:|--:|"]
    rows = {"`/bin/true`": ["/bin/true"], "`git diff --cached`": ["git", "diff", "--cached"],
            "`git-oracle scan --staged` (target: at most 5 ms)": ["git-oracle", "scan", "-q", "--staged"]}
    for name, argv in rows.items():
        wall, cpu, code = best(few, [argv], options.runs * 10)
        met = "" if "target" not in name else ", met" if wall <= 0.005 else ", MISSED"
        lines.append(f"| {name.replace(')', met + ')')} | {wall * 1000:.1f} | {cpu * 1000:.1f} | {code} |")
print("\n".join(lines))
if options.markdown:
    with open(options.markdown, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
