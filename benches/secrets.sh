#!/usr/bin/env bash
# Measures the secret scanner against those that a user would pick instead, on the same files in one run.
#
# usage: benches/secrets.sh [--bin DIR] [--tools DIR] [--runs N] [--only PART] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --tools DIR      where the other scanners are, besides PATH: kingfisher, ripsecrets, detect-secrets, secretlint and
#                    gitleaks. One that is missing is left out, and the table says so
#   --runs N         runs of each command, the best of which counts (default: 3; ten times as many for the few files)
#   --only PART      text:   a folder of ordinary text, in bytes per second of processor time
#                    files:  20 files of 100 KB together, with one token among them, from start to end
#                    staged: the same files staged; what the hooks cost with them is in hooks.sh
#   --quick          a tenth of the text and one run: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where the text is kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# The text is taken from the sources that cargo has unpacked on this machine. Processor time is counted because some of
# the scanners use every processor there is. No scanner asks the network.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'text|files|staged' "$@"
"${isolated[@]}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" "$python" "$here/secrets.py" --cache "$cache/secrets" \
    --runs "$([[ $quick ]] && echo 1 || { [[ " $* " == *' --runs '* ]] && echo "$runs" || echo 3; })" \
    --megabytes "$([[ $quick ]] && echo 3 || echo 30)" --only "$only" --called "$called" ${markdown:+--markdown "$markdown"}
