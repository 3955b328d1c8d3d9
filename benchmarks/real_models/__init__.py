"""Real trained models, by package: what there is, how to get it, what to feed it."""
