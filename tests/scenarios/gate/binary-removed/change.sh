rm src/a.bin
