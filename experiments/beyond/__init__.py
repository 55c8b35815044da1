"""Recorded experiments on what the paper's last section leaves open."""
