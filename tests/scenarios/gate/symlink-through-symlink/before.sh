ln -s ../docs src/out
