#!/usr/bin/env bash
# Measures the gate against git, in generated repositories.
#
# usage: benches/gate.sh [--bin DIR] [--runs N] [--only range|worktree|start] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --runs N         runs of each command, after a warm-up (default: 21; ten times as many for very short ones)
#   --only PART      range:    gate --range over 1,000 commits, against git log --raw
#                    worktree: gate --worktree in 10,000 and 100,000 files, against git status
#                    start:    git-oracle --version, against /bin/true
#   --quick          1,000 files, 100 commits, 5 runs: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where the repositories are kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# The first run builds the repositories, which takes about a minute and about 0.7 GB; later runs reuse them.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'range|worktree|start' "$@"
files=10000 many=100000 commits=1000
[[ -z $quick ]] || files=1000 many='' commits=100

if wanted range; then
    repository $files $commits
    group="range of $(number $commits) commits, $(number $files) files"
    row "$group" 'git log --raw' "$repo" 0 - - 'git log --raw base..main'
    row "$group" 'gate --range' "$repo" 0,7 'git log --raw' 1.2 "git-oracle gate --range base..main --contract $(printf %q "$contract")"
fi
if wanted worktree; then
    for count in $files $many; do
        # The large repository is about its files; a short history builds faster.
        repository "$count" $((count == files ? commits : 100))
        group="worktree of $(number "$count") files"
        row "$group" 'git status' "$repo" 0 - - 'git status --porcelain'
        row "$group" 'gate --worktree' "$repo" 0,7 'git status' 1.2 "git-oracle gate --worktree --contract $(printf %q "$contract")"
    done
fi
if wanted start; then
    row start /bin/true "$cache" 0 - - /bin/true
    row start 'git --version' "$cache" 0 /bin/true - 'git --version'
    row start 'git-oracle --version' "$cache" 0 /bin/true 2 'git-oracle --version'
fi

measure
