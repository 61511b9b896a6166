chmod +x src/parser.rs
