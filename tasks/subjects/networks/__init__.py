"""The image networks that can be built by name, in plain Torch, and a user's own; each gives logits."""
