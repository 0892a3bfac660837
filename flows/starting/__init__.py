"""How a team begins: look at data, propose an audit of it, and write that down as files that run as they are."""
