"""The FITS reader and writer of the example.

They need numpy, which Debian's Python has and the test environment has not, so each test runs a few lines there.
"""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "fits2hdf5"


def run_lines(lines: str, tmp_path: Path) -> None:
    """Runs lines in which fits, np, Path and the function refuses(data, reason) are at hand."""
    prelude = """
        import gzip, sys
        from pathlib import Path
        import numpy as np
        import fits

        def refuses(data, reason):
            try:
                fits.parse(data, "x")
            except fits.FitsError as error:
                assert reason in str(error), error
            else:
                raise AssertionError("accepted")
    """
    code = textwrap.dedent(prelude) + textwrap.dedent(lines)
    result = subprocess.run(
        ["/usr/bin/python3", "-B", "-W", "error", "-c", code],
        cwd=tmp_path,
        text=True,
        env={"PYTHONPATH": str(FOLDER)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "i8", "f4", "f8"])
def test_what_is_written_is_read_back(tmp_path: Path, kind: str, compress: bool) -> None:
    run_lines(
        f"""
        pixels = np.arange(7 * 5).reshape(7, 5).astype({kind!r})
        header = {{"OBJECT": "it's a / test", "EXPTIME": 1.3, "COUNT": -4, "FLAG": True, "TINY": 1e-30, "EMPTY": ""}}
        path = Path("image.fits")
        fits.write(path, pixels, header, compress={compress})
        assert (path.read_bytes()[:2] == fits.GZIP_MAGIC) == {compress}
        assert {compress} or path.stat().st_size % 2880 == 0
        assert fits.is_fits(path)
        image = fits.read(path)
        assert image.pixels.dtype.newbyteorder("=") == pixels.dtype
        assert (image.pixels == pixels).all()
        assert header.items() <= image.header.items()
        assert image.header["NAXIS1"] == 5 and image.header["NAXIS2"] == 7
        """,
        tmp_path,
    )


def test_scaled_pixels_become_physical_values(tmp_path: Path) -> None:
    run_lines(
        """
        fits.write(Path("a"), np.array([[0, 2], [-4, 6]], "i2"), {"BSCALE": 0.5, "BZERO": 100.0})
        assert fits.read(Path("a")).calibrated().tolist() == [[100.0, 101.0], [98.0, 103.0]]
        """,
        tmp_path,
    )


def test_cards_of_real_headers_are_understood(tmp_path: Path) -> None:
    run_lines(
        """
        cards = ["SIMPLE  =                    T / a comment",
                 "BITPIX  =                  -32", "NAXIS   = 2 / # of Axes",
                 "NAXIS1  =    1", "NAXIS2  =    2", "ORDATE  = '001124  '             / Date (yymmdd)",
                 "EQUINOX =   2.000000000000E+03   / at SOS", "OLD     = 1.5D3", "NAME    = 'O''Neil' / text",
                 "UNDEF   =                      / no value", "COMMENT free  text", "HISTORY = not a value", "", "END"]
        data = "".join(card.ljust(80) for card in cards).encode().ljust(2880) + bytes(2880)
        image = fits.parse(data, "x")
        assert image.header["ORDATE"] == "001124" and image.header["EQUINOX"] == 2000.0
        assert image.header["OLD"] == 1500.0 and image.header["NAME"] == "O'Neil" and "UNDEF" not in image.header
        assert image.comments == ["COMMENT free  text", "HISTORY = not a value"]
        assert image.pixels.shape == (2, 1)
        """,
        tmp_path,
    )


def test_damaged_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    run_lines(
        """
        fits.write(Path("a"), np.zeros((40, 40), "f8"), {})
        data = Path("a").read_bytes()
        refuses(b"", "no END card")
        refuses(data[:200], "no END card")
        refuses(data[:2880 + 40 * 40 * 8 - 1], "cut short")
        refuses(data.replace(b"SIMPLE  =                    T", b"SIMPLE  =                    F"), "SIMPLE")
        refuses(data.replace(b"-64", b"-63"), "BITPIX")
        refuses(data.replace(b"NAXIS   =                    2", b"NAXIS   =                    3"), "two-dimensional")
        refuses(data.replace(b"NAXIS1  =                   40", b"NAXIS1  =                  -40"), "two-dimensional")
        refuses(data.replace(b"NAXIS1  =                   40", b"NAXIS1  =          99999999999"), "two-dimensional")
        refuses(data.replace(b"NAXIS1  =                   40", b"NAXIS1  =                   xy"), "no number")
        Path("b").write_bytes(gzip.compress(data)[:-20])
        try:
            fits.read(Path("b"))
        except fits.FitsError:
            pass
        else:
            raise AssertionError("accepted half a gzip stream")
        Path("c").write_text("SIMPLE  = T\\nBITPIX  = -64\\n" + " " * 100)
        assert not fits.is_fits(Path("c"))
        Path("d").write_bytes(fits.GZIP_MAGIC + b"rubbish")
        assert not fits.is_fits(Path("d"))
        """,
        tmp_path,
    )
