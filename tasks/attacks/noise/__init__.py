"""Natural noise on texts: what a hurried writer, another keyboard or a broken pipeline does to words. Black box, with
severities, and no search: the same noise for every subject."""
