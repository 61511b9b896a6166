git init -q src/inner; echo x > src/inner/a
