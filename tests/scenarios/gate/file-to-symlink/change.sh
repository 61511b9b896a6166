rm src/parser.rs; ln -s lexer.rs src/parser.rs
