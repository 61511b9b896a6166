#!/bin/sh
# Builds git-oracle and puts the program, its man pages and its completions in place.
set -eu

usage() {
    cat <<'TEXT'
usage: ./install.sh [--prefix DIR] [--demo | --test]

  (nothing)     build and install below the prefix
  --demo        install, then run `git oracle demo`
  --test        install what the tests need and run them all; installs nothing of git-oracle
  --prefix DIR  where bin/ and share/ are; $HOME/.local unless said otherwise

Running it again is safe. Missing system packages are installed with apt-get where there is one.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $1"; shift; for hint in "$@"; do say "hint: $hint"; done; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages, as root or through sudo.
install_packages() {
    has apt-get || die "these packages are missing: $*" "Install them with your system's package manager, then run this again."
    root=
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || die "these packages are missing: $*" "Run as root: apt-get install $*"
        root=sudo
    fi
    say "installing $*"
    $root apt-get update -qq
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Makes sure that a program can be linked: a compiler alone does not bring the C library's headers and objects.
need_linker() {
    probe=$(mktemp -d)
    case $(uname -s) in Linux) static=-static ;; *) static= ;; esac
    if ! { echo 'int main(void) { return 0; }' | cc -x c $static -o "$probe/a" - 2>/dev/null; }; then
        rm -rf "$probe"
        install_packages gcc libc6-dev
    fi
    rm -rf "$probe"
}

# Makes sure that each of `program:package` is there.
need() {
    missing=
    for pair in "$@"; do
        has "${pair%%:*}" || missing="$missing ${pair#*:}"
    done
    # shellcheck disable=SC2086 # a list of words
    [ -z "$missing" ] || install_packages $missing
}

# Makes sure that there is a browser, and a driver for it.
need_browser() {
    has google-chrome || has chromium-browser || need chromium:chromium
    need chromedriver:chromium-driver
}

find_cargo() {
    has cargo || PATH="$HOME/.cargo/bin:$PATH"
    has cargo || die "cargo is missing" "Install Rust from https://rustup.rs, then run this again."
}

build() {
    # Linked statically, and for one place in memory so that nothing is relocated at the start, the program starts in half
    # the time, and a hook is started several times for every commit. With a target named, the flags reach the program
    # and not the macros that run during the build.
    host=$(rustc -vV | sed -n 's/^host: //p')
    case $host in
    *-linux-gnu)
        RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static -C relocation-model=static" cargo build --release --locked --target "$host"
        built=${CARGO_TARGET_DIR:-target}/$host/release/git-oracle
        ;;
    *)
        cargo build --release --locked
        built=${CARGO_TARGET_DIR:-target}/release/git-oracle
        ;;
    esac
}

install_files() {
    mkdir -p "$prefix/bin"
    # Put beside and renamed: a hook that runs meanwhile finds the old program or the new one.
    cp "$built" "$prefix/bin/.git-oracle.new"
    mv -f "$prefix/bin/.git-oracle.new" "$prefix/bin/git-oracle"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    "$prefix/bin/git-oracle" generate --man "$scratch/man" --completions "$scratch/completions"
    share=$prefix/share
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d" "$share/fish/vendor_conf.d"
    cp "$scratch"/man/*.1 "$share/man/man1/"
    cp "$scratch/completions/git-oracle.bash" "$share/bash-completion/completions/git-oracle"
    cp "$scratch/completions/_git-oracle" "$share/zsh/site-functions/"
    cp "$scratch/completions/git-oracle.fish" "$share/fish/vendor_completions.d/"
    cp "$scratch/completions/git-oracle-start.fish" "$share/fish/vendor_conf.d/git-oracle.fish"
    say "installed $("$prefix/bin/git-oracle" --version) in $prefix/bin"
    case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "hint: put $prefix/bin on your PATH, so that git finds \`git oracle\`" ;;
    esac
}

# Fetches the programs that tests/it/runners.rs runs into the build directory. They are never required: a test whose
# program could not be had says that it was not run.
fetch_runners() {
    mkdir -p "${CARGO_TARGET_DIR:-target}/runners/bin"
    GIT_ORACLE_RUNNERS=$(cd "${CARGO_TARGET_DIR:-target}/runners/bin" && pwd)
    export GIT_ORACLE_RUNNERS
    runners=${GIT_ORACLE_RUNNERS%/bin}
    if has python3 && ! [ -x "$runners/bin/prek" ]; then
        say "fetching pre-commit and prek"
        {
            python3 -m venv "$runners/python" &&
                "$runners/python/bin/pip" install --quiet --retries 1 --timeout 15 'pre-commit>=4,<5' 'prek<1' &&
                ln -sf ../python/bin/pre-commit ../python/bin/prek "$runners/bin/"
        } >"$runners/python.log" 2>&1 || say "warning: they could not be had, see $runners/python.log"
    fi
    if has npm && ! [ -x "$runners/bin/lefthook" ]; then
        say "fetching lefthook and husky"
        {
            npm install --prefix "$runners/npm" --ignore-scripts --no-audit --no-fund \
                --fetch-retries 1 --fetch-timeout 15000 lefthook@2 husky@9 &&
                ln -sf ../npm/node_modules/.bin/husky "$runners/bin/" &&
                # The program itself: its wrapper would start node for every hook.
                (cd "$runners/bin" && ln -sf ../npm/node_modules/lefthook-*/bin/lefthook .)
        } >"$runners/npm.log" 2>&1 || say "warning: they could not be had, see $runners/npm.log"
    fi
}

run_tests() {
    need_linker
    # script(1) gives the tests a terminal to type at, Xvfb a display to sign in at; strace(1) kills at a system call and
    # tells what was started.
    need script:bsdutils bash:bash Xvfb:xvfb strace:strace
    need_browser
    for component in rustfmt clippy; do
        cargo "$(echo $component | sed 's/^rust//')" --version >/dev/null 2>&1 || rustup component add "$component" ||
            die "$component is missing" "rustup component add $component"
    done
    fetch_runners
    cargo fmt --all --check
    cargo clippy --all-targets --locked -- -D warnings
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --locked --no-fail-fast
    else
        cargo test --locked --no-fail-fast
    fi
}

prefix=${HOME:?HOME is not set}/.local
mode=install
while [ $# -gt 0 ]; do
    case $1 in
    --demo | --test) mode=${1#--} ;;
    --prefix)
        [ $# -gt 1 ] || { usage >&2; exit 129; }
        case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 129 ;;
    esac
    shift
done

cd "$(dirname "$0")"
need git:git
find_cargo
case $mode in
test) run_tests ;;
*)
    need_linker
    build
    install_files
    if [ "$mode" = demo ]; then
        need_browser
        PATH="$prefix/bin:$PATH" git oracle demo
    fi
    ;;
esac
