"""The tables of the papers, their numbers beside ours."""
