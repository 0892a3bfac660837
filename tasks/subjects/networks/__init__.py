"""The image networks that can be built by name, in plain Torch, and those of timm and torchvision; each gives logits.

In come the numbers of classes, channels and pixels and a seed; out goes a module. Begin with `building.py`.
"""
