mv src/parser.rs src/reader.rs
