"""What produces the recorded evidence of the book; not part of the installed library."""
