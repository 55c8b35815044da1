"""Files: safe, atomic, strict; the hub."""
