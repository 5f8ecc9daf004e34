"""Small pictures of pages, and how much two of them differ.

Texts are drawn in a monospaced font: such fonts have letters of nearly the same width, so that
lines break at the same places on every machine. The pictures are so small that the shapes of
letters do not matter, but places, sizes and colours do.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

FONT = ".pyhudi, .pyhudi * { font-family: monospace !important; }"
_SCALE = 2
_COLOURS = 64
#: Differences of a pixel, of 255, that other shapes of letters cause.
_NOTICED = 30
#: Pixels by which things may be elsewhere.
_SHIFT = 2
_TILE = 32


def small(picture: bytes) -> Image.Image:
    """A screenshot of a page, as small as it is kept."""
    with Image.open(io.BytesIO(picture)) as opened:
        return opened.convert("RGB").reduce(_SCALE)


def save(picture: Image.Image, path: Path) -> None:
    """Write a reference."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fewer = picture.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    fewer.save(path, optimize=True)


def difference(picture: Image.Image, reference: Path) -> float:
    """The share of pixels that differ noticeably, from 0 to 1, where it is greatest.

    A pixel differs if no pixel of the reference near it has about its colour, or the other way
    round. If the heights differ, what one picture has and the other one lacks differs. The pictures
    are compared tile by tile, so that a small change shows in a long page.
    """
    with Image.open(reference) as opened:
        other = _blurred(opened.convert("RGB"))
    own = _blurred(picture)
    height, width = max(own.shape[0], other.shape[0]), max(own.shape[1], other.shape[1])
    one, two = (_padded(each, height, width) for each in (own, other))
    differs = _lacks(one, two) | _lacks(two, one)
    tiles = np.pad(differs, ((0, -height % _TILE), (0, -width % _TILE)))
    return float(tiles.reshape(-(-height // _TILE), _TILE, -1, _TILE).mean(axis=(1, 3)).max())


def _blurred(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(1)), np.int16)


def _padded(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    missing = (height - pixels.shape[0], width - pixels.shape[1])
    return np.pad(pixels, ((0, missing[0]), (0, missing[1]), (0, 0)), constant_values=-255)


def _lacks(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which pixels of `one` are unlike all near ones of `other`."""
    height, width = one.shape[:2]
    around = np.pad(other, ((_SHIFT, _SHIFT), (_SHIFT, _SHIFT), (0, 0)), mode="edge")
    least = np.full((height, width), 255, np.int16)
    for row in range(2 * _SHIFT + 1):
        for column in range(2 * _SHIFT + 1):
            near = around[row : row + height, column : column + width]
            least = np.minimum(least, np.abs(one - near).max(axis=2))
    return least > _NOTICED
