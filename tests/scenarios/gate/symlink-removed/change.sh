rm src/link
