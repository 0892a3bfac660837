"""What a drop between two runs comes from: two run records and a finding go in, the share of each change comes out.

A change (samples, rules, model, weights, settings, seed) is swapped for what it was, in every order; a share is the
Shapley value. Begin with changes.py, then hybrids.py, then shares.py.
"""
