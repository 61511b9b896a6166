#!/usr/bin/env bash
# Measures packages of 10,000 files: the text against cat, the archive against zip -r and git archive.
#
# usage: benches/bundle.sh [--bin DIR] [--runs N] [--only text|zip] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --runs N         runs of each command, after a warm-up (default: 21)
#   --only PART      text: bundle, against cat of the same files
#                    zip:  bundle --format zip, against zip -r and git archive
#   --quick          1,000 files, 5 runs: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where the repository is kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# Everything goes to /dev/null, so no disk is waited for. Before anything is timed, the package has to hold every file.
# zip comes with most systems, as a package of that name.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'text|zip' "$@"
command -v zip >/dev/null || die "zip is missing"
files=10000 commits=100
[[ -z $quick ]] || files=1000

repository $files $commits
in_repo ls-files -z --cached --others --exclude-standard >"$folder/listed"
bytes=$(cd "$repo" && xargs -0 cat <"$folder/listed" | wc -c)
count=$(tr -cd '\0' <"$folder/listed" | wc -c)
said=$(in_repo oracle bundle --dry-run --max-total-size 1G) || die "$said"
[[ $said == *"files: $count"$'\n'"bytes: $bytes"$'\n'* ]] || die "the package does not hold the $count files with $bytes bytes: $said"
remark="$(number "$count") files with $(number "$bytes") bytes. "

if wanted text; then
    group="text of $(number $files) files"
    row "$group" 'cat' "$repo" 0 - - "xargs -0 cat < $(printf %q "$folder/listed")"
    row "$group" 'bundle' "$repo" 0 cat - 'git-oracle -q bundle --max-total-size 1G'
fi
if wanted zip; then
    group="archive of $(number $files) files"
    row "$group" 'zip -r' "$repo" 0 - - "zip -q -r - . -x .git/\\*"
    row "$group" 'git archive' "$repo" 0 'zip -r' - 'git archive --format=zip HEAD'
    row "$group" 'bundle --format zip' "$repo" 0 'zip -r' 1 'git-oracle -q bundle --format zip --max-total-size 1G'
fi

measure
