"""The trust oracle: is a correct prediction right for the right reasons?"""
