"""Words: where they are in a text, what they mean, and how related two of them are."""
