"""What is done around runs: a configuration goes in, what is wrong with it comes out (`assay check`, check.py)."""
