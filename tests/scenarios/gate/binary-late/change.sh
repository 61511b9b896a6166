{ yes "a line of text" | head -2000; printf "\\0\\n"; } > src/a.txt
