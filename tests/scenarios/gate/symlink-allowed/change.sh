mkdir src/links; ln -s ../parser.rs src/links/a
