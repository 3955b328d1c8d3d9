"""One check for each kind of expectation; `catalog` lists them."""
