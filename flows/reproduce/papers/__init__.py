"""One module per paper: its tables as values, from the paper's numbers to the findings that stand beside them."""
