"""How far the people who labelled the samples agree beyond chance, and by how much gold follows each of them: what a
subject can be held against at all. Krippendorff, *Computing Krippendorff's Alpha-Reliability* (2011)."""
