"""Trials of what one word does: exact robustness, and changes of meaning."""
