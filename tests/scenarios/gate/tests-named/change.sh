mkdir src/tests; echo a > src/tests/a.rs
