printf "// \\342\\200\\256 old\\n" >> src/lexer.rs
