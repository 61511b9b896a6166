echo 'fn more() {}' >> src/parser.rs
