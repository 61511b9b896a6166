printf "a\\0b\\n" > src/a.bin
