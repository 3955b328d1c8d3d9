"""Adapters for engines that do not bring their own."""
