"""The kinds of artifact that image audits make: their columns, their keys, their meaning."""

from assay.data.columns import ListedTable
from assay.infra.storage.artifacts import Files


class Attacked(ListedTable):
    """One row per sample and ε: what the subject says of the clean image and of the attacked one.

    ε = 0 is the clean image and always there. `success` means that the attack reached its goal, after so many `steps`
    (or all of them where it never did); `distance` is the L∞ distance in pixel values of [0, 1]. Where samples bear
    several labels `gold` is null, `clean` and `attacked` are -1, and the labels and probabilities speak. In a table of
    the worst case `winner` is the attack whose image it was, and of several attacks in turn the one that it fell to;
    elsewhere it is null.
    """


class AdversarialImages(ListedTable):
    """Attacked images as float32 pixels [channels, height, width], bit for bit what a subject was shown.

    Of the samples that are kept for the report the clean image is there as well, at ε = 0.
    """


class ImagePaths(ListedTable):
    """One row per row of a table that names images by their paths: the sample's id, and the path as it stands there."""


class FrameFlips(ListedTable):
    """One row per sample, subject, perturbation and severity: how often the prediction flips along the sequence.

    `comparisons` is the number of pairs of frames that were compared (times labels, where samples bear several),
    `flips` how many of them differ. Of the frames at the severity's full strength `judged` have a known truth (times
    labels; none where there is no gold) and `correct` are right.
    """


class CorruptedImages(ListedTable):
    """A few images as subjects saw them at the full strength of a perturbation and severity, for people to look at.

    Pixels [channels, height, width] in 8 bits. The clean image is there as well, at severity 0 of `clean`.
    """


class TrainingCurve(ListedTable):
    """One row per epoch of a training: the loss, and the accuracy on training and validation samples.

    The accuracy is that of the running epoch on samples as they were varied; with several labels, per label. How long
    it took is in the manifest: a clock has no place in a table that is the same in every run.
    """


class GeneratorFiles(Files):
    """A trained perturbation generator: safetensors and a card."""


class Probed(ListedTable):
    """One row per probed sample: its logits' range and sum, the largest gradient at the image and next to it, how far
    the logits of repeated calls lie apart, and the probabilities before and after an attack that may repaint the image
    (ε = 1)."""


class DiagnosticImages(ListedTable):
    """One row per image, picture of it and circumstance: what a subject looks at, as numbers for people to look at.

    `shown` is `clean` or the attack's name; `picture` is `image`, `feature map`, `saliency`, `integrated gradients`,
    `attention fine` or `attention coarse`. `values` are float32 [channels, height, width]; only an `image` has more
    than one channel. `gold` is null and `labels` not where samples bear several. Integrated gradients are of the class
    `said`; `total` is what they add up to, `expected` what they should: f(x) − f(baseline).
    """


class LayerFeatures(ListedTable):
    """What comes out of one layer for one image; `shown` is `train`, `clean` or the name of an attack."""


class LayerPoints(ListedTable):
    """One row per layer, circumstance and sample: its place in the plane by t-SNE, computed for all of a layer at once.

    `code` is its class, of several labels the first that holds, -1 where unknown or none. `agrees` says how far its
    nearest training samples bear its class: 0 or 1, of several labels a share; null where its truth is unknown.
    """


class CoOccurrence(ListedTable):
    """One row per pair of classes: of `images`, how many the subject says to be of both, before and after an attack.

    `side` is `clean` or `attacked`; a pair of a class with itself counts the images said to bear it, and `alone` those
    that bear nothing else. Where images are of one class, `side` is `moved`: so many said to be `first` when clean are
    said to be `second` when attacked.
    """


class Certified(ListedTable):
    """One row per sample: the class that the smoothed subject is certain of, and the L2 radius it is certain within.

    Where it abstains, `predicted` is -1 and the radius 0. `lower` bounds the probability of the class under noise from
    below, from `hits` of so many `draws`.
    """
