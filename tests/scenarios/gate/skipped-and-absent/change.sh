git update-index --skip-worktree docs/guide.md; rm docs/guide.md
