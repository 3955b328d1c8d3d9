"""What a backend is found to do: whether its adapter keeps the protocol, and what really works."""
