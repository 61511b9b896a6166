mkdir src2; echo a > src2/a.rs
