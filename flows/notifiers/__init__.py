"""Who hears when a pipeline's state has changed: a message goes in, a delivery or its trouble in a sentence comes out.

A notifier is a module: its settings, its function, its value at the end. Begin with choice.py, then webhook.py.
"""
