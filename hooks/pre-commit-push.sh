#!/bin/sh
# What pre-commit and prek run before a push, see .pre-commit-hooks.yaml.
#
# They read what git says about the push themselves and tell a hook about one ref, in variables. This says it again in
# git's words, so that the push is judged as by the hook that `git oracle hooks install` installs: every commit that the
# remote does not have, and no other. Their own range would also name work of others that was merged.
set -eu

refuse() {
    printf '%s\n' "git-oracle: the push is refused, because $1" "hint: $2" >&2
    exit 1
}

command -v git-oracle >/dev/null || refuse "the program git-oracle is not there" "Install git-oracle, and put it on PATH."
for name in LOCAL_BRANCH REMOTE_BRANCH REMOTE_NAME REMOTE_URL; do
    eval "[ \"\${PRE_COMMIT_$name-}\" ]" ||
        refuse "PRE_COMMIT_$name is not set" "To judge by hand: git oracle gate --range A..B"
done

local_id=$(git rev-parse --verify --end-of-options "$PRE_COMMIT_LOCAL_BRANCH") ||
    refuse "$PRE_COMMIT_LOCAL_BRANCH was not found" "Push a branch or a commit that is there."
# A commit that the remote has; they do not name one when it has nothing of this history.
remote_id=${PRE_COMMIT_FROM_REF:-$(printf %s "$local_id" | tr 0-9a-f 0)}
printf '%s %s %s %s\n' "$PRE_COMMIT_LOCAL_BRANCH" "$local_id" "$PRE_COMMIT_REMOTE_BRANCH" "$remote_id" |
    git-oracle hook pre-push "$PRE_COMMIT_REMOTE_NAME" "$PRE_COMMIT_REMOTE_URL"
