"""What is written: files whole or not at all, and plots as objects."""
