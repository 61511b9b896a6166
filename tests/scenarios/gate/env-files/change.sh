for name in .ENV .env.local .envrc .env.example .env.dist; do echo KEY=1 > src/$name; done
