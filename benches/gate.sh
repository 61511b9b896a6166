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

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command="benches/gate.sh${*:+ $*}"
bin=$here/../target/release cache=${TMPDIR:-/tmp}/git-oracle-bench
runs='' only='' markdown='' files=10000 many=100000 commits=1000 default_runs=21

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
die() { printf 'gate.sh: %s\n' "$1" >&2; exit 2; }

while (($#)); do
    case $1 in
        -h | --help) usage; exit ;;
        --quick) files=1000 many='' commits=100 default_runs=5 ;;
        --bin | --runs | --only | --markdown | --cache)
            (($# > 1)) || die "$1 needs a value"
            printf -v "${1#--}" %s "$2"
            shift ;;
        *) die "unknown argument $1, see --help" ;;
    esac
    shift
done
[[ $only =~ ^(range|worktree|start)?$ ]] || die "--only takes range, worktree or start"
[[ ${runs:=$default_runs} =~ ^[1-9][0-9]*$ ]] || die "--runs takes a number"
bin=$(cd "$bin" 2>/dev/null && pwd) && [[ -x $bin/git-oracle ]] || die "no git-oracle in the --bin directory; cargo build --release makes one"
mkdir -p "$cache/home"
cache=$(cd "$cache" && pwd)

# The interpreter itself: a version manager's shim would put its own directories before --bin.
python=$(python3 -c 'import sys; print(sys.executable)')
# Nothing of the person's configuration or environment may take part.
isolated=(env -i HOME="$cache/home" PATH="$bin:$PATH" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8 TZ=UTC)
rows=()
row() { rows+=(--row "$@"); }
wanted() { [[ -z $only || $only == "$1" ]]; }
number() { sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta' <<<"$1"; }
# FILES COMMITS: sets $repo and $contract
repository() {
    local folder
    folder=$("${isolated[@]}" "$python" "$here/make_repo.py" --cache "$cache" --files "$1" --commits "$2")
    repo=$folder/repo contract=$(printf %q "$folder/contract.json")
}

if wanted range; then
    repository $files $commits
    group="range of $(number $commits) commits, $(number $files) files"
    row "$group" 'git log --raw' "$repo" 0 - - 'git log --raw base..main'
    row "$group" 'gate --range' "$repo" 0,7 'git log --raw' 1.2 "git-oracle gate --range base..main --contract $contract"
fi
if wanted worktree; then
    for count in $files $many; do
        # The large repository is about its files; a short history builds faster.
        repository "$count" $((count == files ? commits : 100))
        group="worktree of $(number "$count") files"
        row "$group" 'git status' "$repo" 0 - - 'git status --porcelain'
        row "$group" 'gate --worktree' "$repo" 0,7 'git status' 1.2 "git-oracle gate --worktree --contract $contract"
    done
fi
if wanted start; then
    row start /bin/true "$cache" 0 - - /bin/true
    row start 'git --version' "$cache" 0 /bin/true - 'git --version'
    row start 'git-oracle --version' "$cache" 0 /bin/true 2 'git-oracle --version'
fi

version=$("${isolated[@]}" git-oracle --version) || die "git-oracle --version failed"
note="\`$command\`: ${version%%$'\n'*}, $(git --version), $(uname -sm), $(nproc) CPUs. Medians of interleaved runs; only ratios within a group mean something."
"${isolated[@]}" "$python" "$here/measure.py" --runs "$runs" --note "$note" ${markdown:+--markdown "$markdown"} "${rows[@]}"
