"""Subjects of images and texts along the adversarial order D1 … DN: as they are, challenged and defended."""
