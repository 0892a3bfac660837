"""The inside of an image subject, clean and under attack (Xu et al., sections 5.2 and 5.3, components 2 to 4).

Where it looks (feature maps, saliency, integrated gradients, attention), whether classes still lie apart in its layers
(t-SNE, with the agreement of nearest neighbours as the number beside the picture), and which labels it names together.
"""
