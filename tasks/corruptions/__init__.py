"""Corruptions: what cameras and scanners do to images, in sequences along which a prediction should not flip.

In go images and the files of subjects; out come `FrameFlips`, a few images for the report, and the findings
`corruption.*`. Begin with `table`, which lists the perturbations and says what one is; `camera` and `weather` make the
frames, `task` shows them to subjects, `tallies` and `findings` count.
"""
