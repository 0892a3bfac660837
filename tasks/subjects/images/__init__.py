"""Networks over images: how one is built and learns, what it says of an image, and how good it is."""
