"""What whole models share, so that an architecture's file says only how it differs."""
