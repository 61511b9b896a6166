printf '[submodule "s"]\n\tpath = src/sub\n\turl = ./x\n\tignore = all\n' > .gitmodules
git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,src/sub
git add .gitmodules
git commit -qm base
