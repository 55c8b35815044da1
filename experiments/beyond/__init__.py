"""Recorded experiments on what the paper leaves open."""
