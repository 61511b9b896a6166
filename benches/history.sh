#!/usr/bin/env bash
# Measures everyday git commands with and without our hooks, in a generated history of 50,000 commits with 3,000 files.
#
# usage: benches/history.sh [--bin DIR] [--runs N] [--only PART] [--quick] [--markdown FILE] [--cache DIR]
#
#   --bin DIR        where git-oracle is (default: target/release)
#   --runs N         runs of each command, after a warm-up (default: 21)
#   --only PART      commit, amend, rebase, merge, stash, fetch or push
#   --quick          1,000 commits, 300 files, a rebase of 5 commits, 5 runs: shows that the script works
#   --markdown FILE  write the table there too
#   --cache DIR      where the repositories are kept (default: ${TMPDIR:-/tmp}/git-oracle-bench)
#
# The commands run in a clone, under an active contract; before anything is timed, a commit outside its scope has to be
# refused. Before each run everything is put back, which is not timed. A rebase, a merge and a push are of the same 50
# commits, which edit a file each and now and then add one; a fetch brings 20 branches.
# The first run builds the history, which takes about two minutes and about 0.3 GB; later runs reuse it.
set -euo pipefail

# shellcheck source=benches/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arguments 'commit|amend|rebase|merge|stash|fetch|push' "$@"
commits=50000 files=3000 length=50
[[ -z $quick ]] || commits=1000 files=300 length=5

repository $files $commits 3
state=$folder/history
rm -rf "$state"
repo=$state/origin.git
"${isolated[@]}" git clone -q --bare "$folder/repo" "$repo"
# No housekeeping in the background, and no new pack for every push.
in_repo config receive.autogc false
in_repo config receive.unpackLimit 100000

# CLONE BRANCH: clones the origin and makes a branch of $length commits that forked off before as many; sets $repo.
# Each edits a file that main left alone meanwhile, and every tenth adds one.
branch() {
    local paths i
    repo=$state/$1
    "${isolated[@]}" git clone -q "$state/origin.git" "$repo" 2>/dev/null
    in_repo config gc.auto 0
    in_repo config maintenance.auto false
    in_repo checkout -q --no-track -b "$2" "origin/main~$length"
    mapfile -t paths < <(in_repo diff --name-only HEAD origin/main | grep -vxFf - <(in_repo ls-files 'pkg*'))
    mkdir -p "$repo/pkg0/$2"
    for ((i = 0; i < length; i++)); do
        echo "// part $i" >>"$repo/${paths[i * ${#paths[@]} / length]}"
        ((i % 10 != 9)) || echo "// part $i" >"$repo/pkg0/$2/part_$i.rs"
        in_repo add --all .
        in_repo commit -q -m "Part $i"
    done
    in_repo checkout -q main
}

say "preparing $(number $commits) commits"
branch others theirs
for ((i = 0; i < 20; i++)); do echo "theirs~$((i % length)):refs/heads/theirs/$i"; done | xargs "${isolated[@]}" git -C "$repo" push -q origin
branch work topic
in_repo for-each-ref --format='delete %(refname)' refs/remotes/origin/theirs | in_repo update-ref --stdin
mkdir "$state/none"
our_hooks "$state/hooks"
no_hooks
edited=$(in_repo ls-files pkg0 | sed -n 1p)
edit="echo '// edited' >>$edited"
echo '// one more' >>"$repo/$edited"
in_repo commit -q -a -m One
tip=$(in_repo rev-parse main~1) topic=$(in_repo rev-parse topic) one=$(in_repo rev-parse main)
rm -rf "$repo/.git/hooks"

# Without hooks, back to where it began.
put="ln -sfn $(printf %q "$state/none") .git/hooks; git update-ref refs/heads/main $tip
git update-ref refs/heads/topic $topic; git symbolic-ref HEAD refs/heads/main; git reset -q --hard"
# PART NAME COMMAND SHELL: a row without hooks and one with them; SHELL prepares a run
operation() {
    wanted "$1" || return 0
    row "$2" 'without hooks' "$repo" 0 - - "$3"
    row "$2" 'with hooks' "$repo" 0 'without hooks' - "$3"
    before "$2" 'without hooks' "$put; $4"
    before "$2" 'with hooks' "$put; $4; ln -sfn $(printf %q "$state/hooks") .git/hooks"
}
operation commit 'commit' 'git commit -q -m Bench' "$edit; git add -u"
operation amend 'amend' 'git commit -q --amend -m Bench' "git reset -q --hard $one; $edit; git add -u"
operation rebase "rebase of $length commits" 'git rebase -q main' 'git checkout -q topic'
operation merge "merge of $length commits" 'git merge -q --no-ff -m Bench topic' :
operation stash 'stash and pop' "sh -c 'git stash push -q && git stash pop -q'" "$edit"
operation fetch 'fetch of 20 branches' 'git fetch -q origin' "git for-each-ref --format='delete %(refname)' refs/remotes/origin/theirs | git update-ref --stdin"
operation push "push of $length commits" 'git push -q origin topic' 'git push -q origin :topic 2>/dev/null || true'

measure
