#!/usr/bin/env bash
# Measures the hooks against git and against other runners, in generated repositories of 50, 10,000 and 100,000 files.
#
# usage: benches/hooks.sh [--bin DIR] [--tools DIR] [--runs N] [--only PART] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --tools DIR      where lefthook, prek and pre-commit are, besides PATH; `install.sh --test` puts them into
#                    target/runners/bin. One that is missing is left out, and the table says so
#   --runs N         runs of each command, after a warm-up (default: 21; ten times as many for very short ones)
#   --only PART      pre-commit: the hook with 1, 20 and 1,000 staged files, against git diff-index --cached HEAD
#                    reference-transaction: the hook for a commit of one file
#                    commit:     git commit of one file with our hooks, without hooks, and with the other runners
#                    fetch:      a fetch of 200 branches with and without our hooks
#                    start:      git-oracle --version, against /bin/true
#   --quick          50 and 1,000 files, 5 runs: shows that the script works, its figures mean little
#   --markdown FILE  write the table there too
#   --cache DIR      where the repositories are kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# A hook is run as git runs it: from the top of the working tree, with git's variables, on an index whose trees are
# written. The other runners have one trivial check of the staged paths. Before each commit or fetch everything is put
# back, which is not timed; all ways to commit share one repository and differ in the folder of hooks only.
# The first run builds the repositories, which takes about a minute and about 0.6 GB; later runs reuse them.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'pre-commit|reference-transaction|commit|fetch|start' "$@"
sizes=(50 10000 100000) staged=(1 20 1000)
[[ -z $quick ]] || sizes=(50 1000) staged=(1 20)
small=${sizes[0]} large=${sizes[-1]}

# The other runners that are here.
runners=()
for name in lefthook prek pre-commit; do
    if "${isolated[@]}" sh -c "command -v $name" >/dev/null; then runners+=("$name"); else remark+="$name was not found. "; fi
done

# The trivial check.
check=$cache/check-paths.sh
# shellcheck disable=SC2016 # for the check
printf '%s\n' '#!/bin/sh' 'for path; do case $path in pkg*) ;; *) echo "$path"; exit 1 ;; esac; done' >"$check"
chmod +x "$check"

# NAME: installs another runner with the trivial check, sees it refuse a commit, and leaves its hooks in $state/NAME
other_hooks() {
    no_hooks
    case $1 in
        lefthook) printf 'pre-commit:\n  jobs:\n    - run: %s {staged_files}\n' "$check" >"$repo/lefthook.yml" ;;
        *) printf 'repos:\n  - repo: local\n    hooks: [{id: paths, name: paths, language: system, entry: %s}]\n' "$check" >"$repo/.pre-commit-config.yaml" ;;
    esac
    (cd "$repo" && "${isolated[@]}" "$1" install) >/dev/null 2>&1 || die "$1 install failed"
    refuses
    mv "$repo/.git/hooks" "$state/$1"
}

# Puts every repository back as make_repo.py left it.
prepared=()
put_back() {
    for repo in "${prepared[@]}"; do
        no_hooks
        rm -f "$repo/.git/index.lock" "$repo/lefthook.yml" "$repo/.pre-commit-config.yaml"
        in_repo update-ref refs/heads/main tip
        in_repo reset -q
    done
}
trap put_back EXIT

# FILES: sets $repo and $state, a folder with a folder of hooks for each way to run them, `index` with one staged file,
# and `transaction`, what git says to reference-transaction when that is committed
prepare() {
    repository "$1" 100 2
    state=$folder/hooks
    in_repo rev-parse -q --verify refs/tags/tip >/dev/null || in_repo tag tip main
    tip=$(in_repo rev-parse tip)
    prepared+=("$repo")
    rm -rf "$state"
    mkdir -p "$state/none" "$state/listen"
    no_hooks
    printf '%s\n' lefthook.yml .pre-commit-config.yaml >"$repo/.git/info/exclude"
    for setting in gc.auto=0 maintenance.auto=false core.logAllRefUpdates=false; do
        in_repo config "${setting%%=*}" "${setting#*=}"
    done
    our_hooks "$state/git-oracle"
    if wanted commit; then
        for name in "${runners[@]}"; do other_hooks "$name"; done
    fi
    # Younger than every file, so that nobody must read a file to know that it is clean.
    no_hooks
    in_repo add -u
    sleep 1.1
    in_repo update-index -q --refresh || true
    cp "$repo/.git/index" "$state/index"
    # shellcheck disable=SC2016 # for the hook
    printf '%s\n' '#!/bin/sh' 'said=$(cat)' "case \$1:\$said in prepared:*heads/main*) echo \"\$said\" >'$state/transaction' ;; esac" >"$state/listen/reference-transaction"
    chmod +x "$state/listen/reference-transaction"
    rm -rf "$repo/.git/hooks"
    in_repo -c core.hooksPath="$state/listen" commit -q -m Bench
    [[ -s $state/transaction ]] || die "git did not call reference-transaction"
    put="cp $(printf %q "$state")/index .git/index; echo $tip >.git/refs/heads/main; ln -sfn $(printf %q "$state")"
    (cd "$repo" && sh -ec "$put/git-oracle .git/hooks")
}

hook='git-oracle hook --hooks-dir .git/hooks'
for size in "${sizes[@]}"; do
    wanted pre-commit || wanted reference-transaction || wanted commit || { wanted fetch && [[ $size == "$small" ]]; } || continue
    say "preparing $(number "$size") files"
    prepare "$size"
    files="$(number "$size") files"
    if wanted pre-commit; then
        for count in "${staged[@]}"; do
            "${isolated[@]}" "$python" "$here/stage.py" "$repo" "$count" "$state/index-$count"
            vars="GIT_INDEX_FILE=$(printf %q "$state/index-$count") GIT_PREFIX= GIT_EDITOR=: GIT_EXEC_PATH=$(printf %q "$(git --exec-path)")"
            group="pre-commit, $files, $(number "$count") staged"
            base='git diff-index --cached HEAD' limit=-
            row "$group" "$base" "$repo" 0 - - "$vars git diff-index --cached HEAD"
            case $size:$count in
                "$small":1)
                    row "$group" /bin/true "$repo" 0 - - /bin/true
                    base=/bin/true limit=2.5 ;;
                "$large":1) limit=0.5 ;;
            esac
            row "$group" 'hook pre-commit' "$repo" 0 "$base" $limit "$vars $hook pre-commit"
        done
    fi
    if wanted reference-transaction; then
        # About 1 ms, whatever the size.
        base="$(number "$small") files" limit=1.5
        [[ $size != "$small" ]] || base='-' limit='1.5 ms'
        row reference-transaction "$files" "$repo" 0 "$base" "$limit" "GIT_PREFIX= $hook reference-transaction prepared < $(printf %q "$state/transaction")"
    fi
    if wanted commit; then
        group="git commit, $files" base='no hooks' limit=-
        if [[ " ${runners[*]} " == *' prek '* ]]; then
            base='prek over no hooks'
            case $size in "$small") limit=0.6 ;; "$large") limit=0.3 ;; esac
        fi
        row "$group" 'no hooks' "$repo" 0 - - 'git commit -q -m Bench'
        before "$group" 'no hooks' "$put/none .git/hooks"
        for name in git-oracle "${runners[@]}"; do
            row "$group" "$name" "$repo" 0 "$base" $limit 'git commit -q -m Bench'
            before "$group" "$name" "$put/$name .git/hooks"
            limit=-
        done
    fi
    if wanted fetch && [[ $size == "$small" ]]; then
        in_repo init -q --bare "$state/remote.git"
        in_repo push -q --no-verify "$state/remote.git" tip
        for ((i = 0; i < 200; i++)); do echo "create refs/heads/b$i $tip"; done | "${isolated[@]}" git -C "$state/remote.git" update-ref --stdin
        fetch="git fetch -q $(printf %q "$state/remote.git") refs/heads/*:refs/remotes/bench/*"
        group='fetch of 200 branches'
        row "$group" 'no hooks' "$repo" 0 - - "$fetch"
        before "$group" 'no hooks' "rm -rf .git/refs/remotes/bench; $put/none .git/hooks"
        row "$group" git-oracle "$repo" 0 'no hooks' - "$fetch"
        before "$group" git-oracle "rm -rf .git/refs/remotes/bench; $put/git-oracle .git/hooks"
    fi
done
if wanted start; then
    row start /bin/true "$cache" 0 - - /bin/true
    row start 'git-oracle --version' "$cache" 0 /bin/true 2 'git-oracle --version'
fi

measure
