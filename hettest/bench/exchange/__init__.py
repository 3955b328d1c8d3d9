"""Files of other tools that follow benchmarks, to and from stored runs."""
