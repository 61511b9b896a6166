ln -s parser.rs src/link
