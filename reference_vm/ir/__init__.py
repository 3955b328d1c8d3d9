"""Programs: their nodes, and how to build, compare, rewrite and verify them."""
