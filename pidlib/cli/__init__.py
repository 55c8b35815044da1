"""Command line of the library."""
