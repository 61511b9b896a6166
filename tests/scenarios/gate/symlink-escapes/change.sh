ln -s ../docs/guide.md src/a; ln -s /etc/passwd src/b; ln -s ../../x src/c; ln -s loop src/loop
