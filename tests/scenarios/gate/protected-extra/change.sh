echo x > src/schema.sql
