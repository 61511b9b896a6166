echo "[submodule]" > .gitmodules
