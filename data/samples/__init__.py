"""Data sets that need no network: real ones out of our dependencies, and seeded simulations."""
