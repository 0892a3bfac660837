"""Subjects of images and texts along the adversarial order."""
