"""The trust oracle: is a prediction right for the right reasons?"""
