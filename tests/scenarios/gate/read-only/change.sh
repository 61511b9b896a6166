echo more >> src/parser.rs
