printf "build/\\n*.log\\n" > .gitignore
