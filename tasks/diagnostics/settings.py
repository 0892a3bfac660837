"""Options of diagnostics: which layers, which images, under which attacks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.infra.settings import Settings
from assay.tasks.subjects.settings import Eps


class Diagnostics(Settings):
    """What is looked at inside image subjects: maps, layers, labels named together; `{}` takes every default."""

    subjects: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The image subjects that are looked into, a defended one as `plain+maadvt`; left out, all that the pipeline
    lists."""

    layers: tuple[str, ...] | None = Field(default=None, min_length=1, max_length=8)
    """The layers whose features are embedded (`before head` is what enters `head`); left out, one in the middle, one
    late, and what enters the last."""

    feature_map: str | None = Field(default=None, min_length=1)
    """The layer whose feature map is drawn; left out, an early one."""

    attacks: tuple[str, ...] | None = None
    """The attacks; left out, the first one and the first generator. `[]` looks at clean images."""

    eps: Eps | None = None
    """The ε of these attacks, one of those they try; left out, the largest of each."""

    images: int = Field(default=4, ge=1, le=50)
    """How many images, evenly over the classes, those that fell to the first attack first."""

    baseline: Literal["black", "blurred"] = "black"
    """Where integrated gradients begin: at a black image, or at the image without its detail."""

    steps: int = Field(default=32, ge=8, le=4096)
    """Into how many pieces that path is cut at first; they are halved until the attributions add up."""

    tsne_samples: int = Field(default=200, ge=20, le=5000)
    """How many training samples, and audited ones, are embedded, evenly over the classes."""

    perplexity: float = Field(default=30.0, ge=2, le=200)
    """About how many neighbours t-SNE keeps together."""

    neighbours: int = Field(default=10, ge=1, le=200)
    """How many nearest training samples vote on a sample's class in each layer."""
