"""Pictures of single chapters, one module each."""
