printf "// Licensed to everybody.\n// No warranty.\nfn one() { first(); }\nfn two() { second(); }\nfn three() { third(); }\n" > docs/sample.rs
