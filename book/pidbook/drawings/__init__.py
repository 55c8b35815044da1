"""Drawings and tables that one chapter makes, a module a chapter: they show data, and compute none."""
