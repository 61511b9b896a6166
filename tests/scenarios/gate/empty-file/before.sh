: > docs/empty
