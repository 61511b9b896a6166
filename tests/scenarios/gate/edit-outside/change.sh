echo more >> docs/guide.md
