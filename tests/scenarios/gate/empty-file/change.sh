: > src/empty
