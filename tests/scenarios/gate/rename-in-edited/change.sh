mv docs/guide.md src/guide.md; echo more >> src/guide.md
