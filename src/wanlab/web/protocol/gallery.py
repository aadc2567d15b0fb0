"""The protocol of the gallery: published figures, which browsers list and run."""

from __future__ import annotations

import msgspec

from .push import Push


class GalleryPrediction(msgspec.Struct, frozen=True):
    """A prediction of a figure, with the measurement; "" if there is none."""

    claim: str
    published: str
    band: str
    measured: str
    words: str


class GalleryFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A published figure, and its measurements in this folder."""

    name: str
    title: str
    source: str
    """Venue, year and figure: "SIGCOMM, 2010, Fig. 17"."""
    link: str
    page: str
    """Markdown about the claims and how they are tested."""
    predictions: tuple[GalleryPrediction, ...]
    verdict: str = ""
    """The verdict; "" if the figure was not run here."""
    causes: tuple[str, ...] = ()
    runs: int = 0
    seeds: int = 0
    figure: str = ""
    """The path of the figure in the working folder."""


class Gallery(msgspec.Struct, frozen=True):
    """The reply to GET /api/gallery."""

    figures: tuple[GalleryFigure, ...]
    running: str = ""
    progress: str = ""


class GalleryPush(Push, frozen=True, tag="gallery"):
    """Which figure is being run, and how far it is; "" if none is. Figures may have changed then."""

    running: str = ""
    progress: str = ""


REST = (GalleryPrediction, GalleryFigure, Gallery)
