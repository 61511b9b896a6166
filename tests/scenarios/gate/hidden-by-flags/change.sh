git update-index --assume-unchanged docs/guide.md; git update-index --skip-worktree README.md; echo x > docs/guide.md; echo y > README.md
