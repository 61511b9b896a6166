rm docs/guide.md
