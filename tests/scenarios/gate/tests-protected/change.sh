mkdir src/tests; echo a > src/tests/a.rs; echo b > src/parser.test.ts; echo c > src/latest.rs
