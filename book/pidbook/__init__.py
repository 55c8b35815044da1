"""What the chapters of the book share and no user of pidlib needs."""
