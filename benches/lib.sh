# What the benchmark scripts share. It is read by each of them and never run by itself.
# shellcheck shell=bash disable=SC2034 # the scripts use what is set here
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=${0##*/}
called="benches/$script${*:+ $*}"
bin=$here/../target/release cache=${TMPDIR:-/tmp}/git-oracle-bench runs='' only='' markdown='' tools='' quick='' remark=''

# The comment at the top of the script.
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
die() { printf '%s: %s\n' "$script" "$1" >&2; exit 2; }
say() { printf '%s: %s\n' "$script" "$1" >&2; }

# PARTS ARGUMENTS...: reads the command line; PARTS are what --only takes, with | between them
arguments() {
    local parts=$1
    shift
    while (($#)); do
        case $1 in
            -h | --help) usage; exit ;;
            --quick) quick=yes ;;
            --bin | --runs | --only | --markdown | --cache | --tools)
                [[ $(usage) == *$'\n'"  $1 "* ]] || die "unknown argument $1, see --help"
                (($# > 1)) || die "$1 needs a value"
                printf -v "${1#--}" %s "$2"
                shift ;;
            *) die "unknown argument $1, see --help" ;;
        esac
        shift
    done
    [[ $only =~ ^($parts)?$ ]] || die "--only takes one of ${parts//|/, }"
    [[ ${runs:=$([[ $quick ]] && echo 5 || echo 21)} =~ ^[1-9][0-9]*$ ]] || die "--runs takes a number"
    bin=$(cd "$bin" 2>/dev/null && pwd) && [[ -x $bin/git-oracle ]] || die "no git-oracle in the --bin directory; cargo build --release makes one"
    [[ -z $tools ]] || tools=$(cd "$tools" 2>/dev/null && pwd) || die "no directory $tools"
    mkdir -p "$cache/home"
    cache=$(cd "$cache" && pwd)
    # The interpreter itself: a version manager's shim would put its own directories before --bin.
    python=$(python3 -c 'import sys; print(sys.executable)')
    # Nothing of the person's configuration or environment may take part, and a commit that is made twice is the same one.
    isolated=(
        env -i HOME="$cache/home" PATH="$bin:${tools:+$tools:}$PATH" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
        GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@example.org GIT_AUTHOR_DATE='1790000000 +0000'
        GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@example.org GIT_COMMITTER_DATE='1790000000 +0000'
        LC_ALL=C.UTF-8 TZ=UTC
    )
}

wanted() { [[ -z $only || $only == "$1" ]]; }
number() { sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta' <<<"$1"; }
rows=()
# GROUP NAME CWD EXITS BASE LIMIT COMMAND: see measure.py
row() { rows+=(--row "$@"); }
# GROUP NAME SHELL: what puts things back before each run of that row
before() { rows+=(--before "$@"); }

# GROUP NAME FILE: how much that row reads
size() { rows+=(--size "$1" "$2" "$(stat -c %s "$3")"); }

# FILES COMMITS [SEED]: sets $folder, $repo and $contract
repository() {
    folder=$("${isolated[@]}" "$python" "$here/make_repo.py" --cache "$cache" --files "$1" --commits "$2" --seed "${3:-1}")
    repo=$folder/repo contract=$folder/contract.json
}
# Runs git in $repo.
in_repo() { "${isolated[@]}" git -C "$repo" "$@"; }
# Gives $repo an empty folder of hooks. A folder of hooks is put in place as a link, so that a run can choose its own.
no_hooks() { rm -rf "$repo/.git/hooks" && mkdir "$repo/.git/hooks"; }
# DIR: installs our hooks there, with the contract active, and sees a commit refused
our_hooks() {
    local said
    rm -rf "$repo/.git/oracle" "$repo/.oracle"
    no_hooks
    said=$(in_repo oracle init 2>&1 && in_repo oracle contract activate "$contract" 2>&1) || die "$said"
    refuses
    rm -rf "$1" && mv "$repo/.git/hooks" "$1"
}
# Sees that the hooks in place refuse a commit outside the packages, and puts the file back.
refuses() {
    local tip said
    tip=$(in_repo rev-parse HEAD)
    echo 'Out of scope.' >>"$repo/README.md"
    in_repo add README.md
    said=$(in_repo commit -q -m 'Out of scope' 2>&1) && die "a commit outside the scope was not refused: the hooks do not work"
    [[ $said == *README.md* && $(in_repo rev-parse HEAD) == "$tip" ]] || die "the commit was not refused for its path: $said"
    in_repo -c core.hooksPath=/dev/null checkout -q HEAD README.md
}

# Measures the rows and prints the table, with $remark above it.
measure() {
    local version note
    version=$("${isolated[@]}" git-oracle --version) || die "git-oracle --version failed"
    note="\`$called\`: ${version%%$'\n'*}, $(git --version), $(uname -sm), $(nproc) CPUs. Medians of interleaved runs; only ratios within a group mean something."
    "${isolated[@]}" "$python" "$here/measure.py" --runs "$runs" --note "$note${remark:+ ${remark% }}" ${markdown:+--markdown "$markdown"} "${rows[@]}"
}
