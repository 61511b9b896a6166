cp docs/guide.md src/guide.md
