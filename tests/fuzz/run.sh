#!/bin/sh
# Fuzzes every parser of outside bytes with coverage guidance, on the plain stable toolchain.
# usage: tests/fuzz/run.sh [SECONDS_EACH] [TARGET…]
set -eu
cd "$(dirname "$0")"
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- contract patch objects texts reply markdown formats bundle secrets
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cargo build --release --target "$target"
for name in "$@"; do
    echo "== $name, $seconds seconds"
    mkdir -p "corpus/$name"
    "target/$target/release/$name" "corpus/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 2>&1 |
        grep -E '^(SUMMARY|==|stat::number_of_executed_units|stat::average|Done|.*ERROR)' || { echo "$name found something"; exit 1; }
    ! ls crash-* timeout-* oom-* >/dev/null 2>&1 || { echo "$name found something: see tests/fuzz"; exit 1; }
done
