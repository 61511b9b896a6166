#!/usr/bin/env bash
# Measures how fast a patch is found in a reply and placed, against git apply on the same clean patch.
#
# usage: benches/patch.sh [--bin DIR] [--runs N] [--only PART] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --runs N         runs of each command, after a warm-up (default: 21)
#   --only PART      patch: patches of 0.1, 1 and 8 MB, against git apply --check
#                    prose: replies of 1, 4, 16 and 64 MB with one small patch in the middle
#   --quick          small sizes, 5 runs: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where the repositories are kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# extract reads the reply, finds the blocks, places every hunk in the files of the index and prints the canonical patch.
# git apply --check reads the patch and the files of the working tree and prints nothing. The time grows with the size
# when the megabytes per second stay what they are.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'patch|prose' "$@"
patches=(20 200 1600) prose=(1 4 16 64)
[[ -z $quick ]] || patches=(5 50) prose=(1 4)

# FILES [MEGABYTES...]: sets $made
made() {
    local IFS=-
    made="$cache/v1-reply-$*"
    [[ -e $made/done ]] || {
        rm -rf "$made"
        "${isolated[@]}" "$python" "$here/make_reply.py" --dir "$made" --files "$1" --prose "${@:2}"
        touch "$made/done"
    }
}

if wanted patch; then
    for files in "${patches[@]}"; do
        made "$files"
        group="patch of $(number "$files") files"
        row "$group" 'git apply --check' "$made/repo" 0 - - 'git apply --check ../change.patch'
        row "$group" extract "$made/repo" 0 'git apply --check' - 'git-oracle extract ../reply.md'
        size "$group" 'git apply --check' "$made/change.patch"
        size "$group" extract "$made/reply.md"
    done
fi
if wanted prose; then
    made 3 "${prose[@]}"
    for megabytes in "${prose[@]}"; do
        row "a reply of $megabytes MB" extract "$made/repo" 0 - - "git-oracle extract ../prose-$megabytes.md"
        size "a reply of $megabytes MB" extract "$made/prose-$megabytes.md"
    done
fi

measure
