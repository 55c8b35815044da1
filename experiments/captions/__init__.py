"""The generator of the captions: what made the rows in `pidlib/assets`."""
