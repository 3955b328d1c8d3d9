"""An explained plan as a table, as JSON, and as a graph in DOT and SVG."""
