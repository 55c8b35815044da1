"""One flat script a recorded result; its constants are its configuration."""
