echo more >> src/lexer.rs; printf "let x; // \\342\\201\\246 new\\n" > src/new.rs; printf "// \\342\\200\\216 mark\\n" > src/mark.rs
