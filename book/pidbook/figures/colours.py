"""Colours; on trials each has one meaning, and the same in every chapter."""

INK = "#7a7f87"  # reads on white and on near-black; the book turns it into the colour of its text
PALETTE = ("#3b82c4", "#d4711c", "#2f9463", "#c4504b", "#8a6fc0", "#9c7a3c")
OURS, ATTACKER, ESTIMATE, LOSS, PAPER, NOISE = PALETTE  # ours blind, attacker sees, ..., placebos
