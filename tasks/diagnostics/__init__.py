"""The inside of an image subject, clean and under attack (Xu et al., sections 5.2 and 5.3, components 2 to 4).

In go images, attacked ones and a subject's files; out come pictures of where it looks (feature maps, saliency,
integrated gradients, attention: `maps`, with which to begin), layers in the plane with the agreement of nearest
neighbours as the number beside the picture, and which labels it names together (`measures`).
"""
