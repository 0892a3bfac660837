"""What a run will cost, from what earlier runs of like work did; what fits a budget; and how near it came."""
