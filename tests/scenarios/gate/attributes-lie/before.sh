echo "*.bin text diff" > .gitattributes
