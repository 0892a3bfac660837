"""What a drop between two nights comes from: what changed, and which of it is to blame for how much."""
