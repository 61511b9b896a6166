echo x > docs/new.md; git add -N docs/new.md; echo y >> src/parser.rs; git add src/parser.rs
