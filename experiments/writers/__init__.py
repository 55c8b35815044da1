"""Trials of language models, which write."""
