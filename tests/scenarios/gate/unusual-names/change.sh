printf x > "src/a	b"; printf x > "src/c\"d"; printf x > "src/--help"; mkdir "\"src"; printf x > "\"src/x"
