cp src/guide.md src/guide2.md
