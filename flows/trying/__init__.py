"""Rules at work on samples, outside a run: what they say, how they do, and which samples show it."""
