"""What the data is: the kinds of artifact, the contracts at our borders, the catalogue and the embedded samples."""
