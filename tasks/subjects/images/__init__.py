"""Subjects of images: how a network learns or comes trained, what it says of an image, and how good it is.

In come images as samples hold them; out go weights with a card, predictions and the findings `subject.*`. Begin with
`task.py`; `model.py` is the wrapper that every attack, corruption and defence asks.
"""
