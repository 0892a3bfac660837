"""What is read of a run: its page, the page of all nights, comparison, records."""
