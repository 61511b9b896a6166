ln -s out/guide.md src/a
