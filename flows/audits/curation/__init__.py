"""Curation: naturally adversarial data sets, found without true labels."""
