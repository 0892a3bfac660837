"""Numbers that papers published, as data, to stand beside ours."""
