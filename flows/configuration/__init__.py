"""From YAML to settings: reading, short forms, overrides, what cannot be together, named things."""
