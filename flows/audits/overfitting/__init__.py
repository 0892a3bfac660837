"""Whether a test score can be believed."""
