mkdir src/img; printf "\\0\\1" > src/img/a.png; printf "\\0\\2" > src/b.png
