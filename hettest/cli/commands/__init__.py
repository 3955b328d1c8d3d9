"""One module for each command; `cli.main` lists them."""
