mkdir build; echo x > build/out; echo y > docs/a.log; echo hidden > docs/.gitignore; echo z > docs/hidden; echo excluded >> .git/info/exclude; echo e > excluded
