"""Pairs of captions, generated from a lexicon and a grammar."""
