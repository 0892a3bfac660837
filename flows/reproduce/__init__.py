"""The tables of the papers, their numbers beside ours: `papers/` says what stands in each, the rest lays it out."""
