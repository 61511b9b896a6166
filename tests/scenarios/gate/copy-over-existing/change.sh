cp docs/guide.md src/lexer.rs
