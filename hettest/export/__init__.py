"""Cases for those who do not run Python: as JSON, and in ONNX's test-data layout."""
