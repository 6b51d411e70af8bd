"""A small reader and writer of single-image FITS files: what the example needs of FITS 4.0, and no more.

A FITS file is a header of 80-character cards in blocks of 2880 bytes, then the pixels, big-endian, row by row, padded
to 2880 bytes. Archives often deliver it as a gzip stream under the plain name, so that the content decides.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BLOCK_BYTES = 2880
CARD_BYTES = 80
MAX_AXIS = 1 << 20
TEXT = "latin-1"  # FITS text is ASCII; this keeps whatever else a header holds
GZIP_MAGIC = b"\x1f\x8b"
PIXEL_TYPES = {8: ">u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}

Value = bool | int | float | str


class FitsError(ValueError):
    """The bytes are not a FITS image that this reader understands; the text says why and where."""


@dataclass(frozen=True)
class FitsImage:
    """One image: pixels as stored (2-D, big-endian), the header's values in file order, and its free text."""

    pixels: np.ndarray
    header: dict[str, Value]
    comments: list[str]

    def calibrated(self) -> np.ndarray:
        """The physical values BZERO + BSCALE * pixel, as 32-bit floats."""
        scale, zero = float(self.header.get("BSCALE", 1.0)), float(self.header.get("BZERO", 0.0))
        return (self.pixels.astype("f8") * scale + zero).astype("<f4")


def _parse_value(text: str, where: str) -> Value:
    text = text.strip()
    if text.startswith("'"):
        end = 1
        while True:
            end = text.find("'", end)
            if end < 0:
                raise FitsError(f"{where}: a string without an end")
            if text[end + 1 : end + 2] != "'":
                return text[1:end].replace("''", "'").rstrip()
            end += 2
    word = text.split("/", 1)[0].strip()
    if word in ("T", "F"):
        return word == "T"
    try:
        integer = int(word)
    except ValueError:
        pass
    else:
        if not -(1 << 63) <= integer < 1 << 63:
            raise FitsError(f"{where}: the value {word} is too large")
        return integer
    try:
        return float(word.replace("D", "E"))
    except ValueError:
        raise FitsError(f"{where}: the value {word!r} is no number") from None


def parse(data: bytes, name: str) -> FitsImage:
    """Reads the primary image of a FITS file held in memory; name is used in errors only."""
    header: dict[str, Value] = {}
    comments: list[str] = []
    position = 0
    while True:
        card = data[position : position + CARD_BYTES]
        if len(card) < CARD_BYTES:
            raise FitsError(f"{name}: the header has no END card")
        text = card.decode(TEXT)
        keyword = text[:8].strip()
        position += CARD_BYTES
        if keyword == "END":
            break
        if keyword in ("COMMENT", "HISTORY"):
            comments.append(text.rstrip())
        elif text[8:10] == "= " and text[10:].split("/", 1)[0].strip():
            header[keyword] = _parse_value(text[10:], f"{name}: {keyword}")
    if header.get("SIMPLE") is not True:
        raise FitsError(f"{name}: does not begin with SIMPLE = T")
    bitpix = header.get("BITPIX")
    if not isinstance(bitpix, int) or bitpix not in PIXEL_TYPES:
        raise FitsError(f"{name}: BITPIX {bitpix!r} does not exist")
    shape = tuple(header.get(f"NAXIS{axis}") for axis in (2, 1))
    if header.get("NAXIS") != 2 or not all(isinstance(n, int) and 0 < n <= MAX_AXIS for n in shape):
        raise FitsError(f"{name}: not a two-dimensional image")
    kind = np.dtype(PIXEL_TYPES[bitpix])
    rows, columns = int(shape[0] or 0), int(shape[1] or 0)
    start = -(-position // BLOCK_BYTES) * BLOCK_BYTES
    if len(data) < start + rows * columns * kind.itemsize:
        raise FitsError(f"{name}: the pixels are cut short")
    pixels = np.frombuffer(data, kind, rows * columns, start).reshape(rows, columns)
    return FitsImage(pixels, header, comments)


def read(path: Path) -> FitsImage:
    """Reads a FITS image, plain or as a gzip stream whatever its name."""
    data = path.read_bytes()
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise FitsError(f"{path.name}: {error}") from None
    return parse(data, path.name)


def is_fits(path: Path) -> bool:
    """Does the file begin like a FITS file, or like a gzip stream of one?"""
    with path.open("rb") as stream:
        start = stream.read(CARD_BYTES)
    if start.startswith(GZIP_MAGIC):
        try:
            with gzip.open(path) as stream_inside:
                start = stream_inside.read(CARD_BYTES)
        except (OSError, EOFError):
            return False
    # A text file may hold cards too, one per line; in a FITS file the first card is 80 characters without a line end.
    return start.startswith(b"SIMPLE  =") and len(start) == CARD_BYTES and b"\n" not in start


def _card(keyword: str, value: Value) -> bytes:
    if isinstance(value, bool):
        text = f"{'T' if value else 'F':>20}"
    elif isinstance(value, str):
        escaped = value.replace("'", "''")
        text = f"'{escaped:<8}'"
    else:
        text = f"{value!r:>20}"
    return f"{keyword:<8}= {text}".ljust(CARD_BYTES).encode("ascii")


def write(path: Path, pixels: np.ndarray, header: dict[str, Value], *, compress: bool = False) -> None:
    """Writes one 2-D image; compress makes it a gzip stream without a time stamp, under the name given."""
    stored = pixels.dtype.newbyteorder(">")
    bitpix = next((code for code, kind in PIXEL_TYPES.items() if np.dtype(kind) == stored), None)
    if bitpix is None:
        raise FitsError(f"{path.name}: FITS has no pixels of type {pixels.dtype}")
    cards = {"SIMPLE": True, "BITPIX": bitpix, "NAXIS": 2, "NAXIS1": pixels.shape[1], "NAXIS2": pixels.shape[0]}
    head = b"".join(_card(keyword, value) for keyword, value in {**cards, **header}.items()) + b"END".ljust(CARD_BYTES)
    body = pixels.astype(stored).tobytes()
    data = head.ljust(-(-len(head) // BLOCK_BYTES) * BLOCK_BYTES) + body.ljust(
        -(-len(body) // BLOCK_BYTES) * BLOCK_BYTES, b"\0"
    )
    path.write_bytes(gzip.compress(data, 6, mtime=0) if compress else data)
