#!/usr/bin/env bash
# Measures questions to a chat page in a real browser: how soon an answer is home, typing, the start, memory, processor time.
#
# usage: benches/transport.sh [--bin DIR] [--runs N] [--only PART] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle and examples/rehearsal are (default: target/release);
#                    cargo build --release --bin git-oracle --example rehearsal makes both
#   --runs N         questions for each row (default: 21; a fourth of them for long prompts and starts)
#   --only PART      answer: from the end of streaming to the captured answer
#                    typing: 20 KB and 200 KB, 40 bytes a line, into each kind of composer
#                    start:  from nothing to a page that can be used, with a new and with a used profile
#                    idle:   memory and processor time while an answer is waited for
#   --quick          5 questions for each row: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where scratch files are kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# The page is the built-in rehearsal page on loopback; the browser is the real one, without a window. The page notes by its
# own clock when the last text was shown, the session's ledger when the answer was captured. Every prompt has to reach the
# page exactly, and every answer has to come home exactly.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'answer|typing|start|idle' "$@"
[[ -x $bin/examples/rehearsal ]] || die "no examples/rehearsal in the --bin directory; cargo build --release --example rehearsal makes it"
"${isolated[@]}" "$python" "$here/transport.py" --page "$bin/examples/rehearsal" --profile "$here/../policies/pages/rehearsal.toml" \
    --scratch "$cache" --runs "$runs" --only "$only" --called "$called" ${markdown:+--markdown "$markdown"}
