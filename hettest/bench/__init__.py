"""Paired measurement: a program placed on several devices against the same program CPU-only."""
