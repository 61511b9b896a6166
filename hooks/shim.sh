#!/bin/sh
# git-oracle hook, version @VERSION@
# `git oracle hooks uninstall` puts back what was here before.
hook=@HOOK@
program=@PROGRAM@
# The hook that was here before lies beside this one and runs first. none: there is none. run: it is run.
# own: it belongs to a tool that may take this place back and call us under another name; then it is not ours to run.
# source: it finds its way by the name it was called with, so it is read here and not run.
before=@BEFORE@

case $0 in
*/*) hooks=${0%/*} ;;
*) hooks=. ;;
esac
earlier=$hooks/$hook.before-oracle
[ -x "$earlier" ] || before=none
[ "$before" != own ] || [ "${0##*/}" = "$hook" ] || before=none

run_earlier() {
    if [ "$before" = source ]; then
        (. "$earlier")
    else
        "$earlier" "$@"
    fi
}

# git can be stopped in this one state only; nothing is judged in the others.
if [ "$hook" = reference-transaction ] && [ "$1" != prepared ]; then
    [ "$before" = none ] || run_earlier "$@"
    exit
fi

input=
given=
case $hook:$before in
pre-commit:none | pre-merge-commit:none | pre-push:none | pre-receive:none | reference-transaction:none) ;;
pre-commit:* | pre-merge-commit:*) run_earlier "$@" || exit ;;
*)
    # Both hooks are to read what git says.
    input=$(cat && echo .)
    input=${input%.}
    given=all
    printf %s "$input" 2>/dev/null | run_earlier "$@" || exit
    ;;
esac

# Most transactions move no branch: they fetch, stash, tag, or delete. They are let go without starting the program.
keep_branches() {
    kept=
    while IFS=' ' read -r old new ref || [ -n "$old" ]; do
        case $ref in
        refs/heads/* | HEAD) ;;
        *) continue ;;
        esac
        case $new in
        ref:*) ;;
        *[!0]*) kept="$kept$old $new $ref
" ;;
        esac
    done
}
if [ "$hook" = reference-transaction ]; then
    if [ "$given" ]; then
        keep_branches <<END
$input
END
    else
        keep_branches
    fi
    [ "$kept" ] || exit 0
    input=$kept
    given=branches
fi

if ! [ -x "$program" ]; then
    program=git-oracle
    if ! command -v git-oracle >/dev/null 2>&1; then
        printf '%s\n' "git-oracle: $hook refuses, because the program git-oracle is not there" \
            "hint: Install git-oracle again, and put it on PATH." >&2
        exit 1
    fi
fi
if [ "$given" ]; then
    exec "$program" hook --hooks-dir "$hooks" "$hook" "$@" <<END
$input
END
fi
exec "$program" hook --hooks-dir "$hooks" "$hook" "$@"
