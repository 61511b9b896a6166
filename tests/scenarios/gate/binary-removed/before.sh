printf "\\0\\1" > src/a.bin
