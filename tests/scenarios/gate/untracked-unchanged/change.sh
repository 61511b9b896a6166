git rm -q --cached README.md
