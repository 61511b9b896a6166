cp docs/long.md src/notes.md; echo "one more line of text" >> src/notes.md
