for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo "Line $n of a longer text, unlike any other."; done > docs/long.md
