#!/usr/bin/env python3
"""fits2hdf5: stores FITS images in one HDF5 file with parallel h5py, and reads them back; an ordinary MPI program.

    mpiexec -n RANKS python fits2hdf5.py --output images.h5 [--images FOLDER]

Layout of the file, one group per image, named after the image file:

    /images/NAME             attributes: the values of the FITS header, and "comments", its free text
    /images/NAME/pixels      as in the FITS file (big-endian), contiguous; written by the rank that read the image, in
                             independent transfers of some rows each
    /images/NAME/calibrated  BZERO + BSCALE * pixel as 32-bit floats, chunked; each rank writes its share of the rows
                             in one collective transfer
    /summary                 one row per image: rows, columns, lowest, highest and mean calibrated value; each rank
                             writes the rows of its images

The file holds no time stamps, so that the same images on the same number of ranks give the same bytes. The exit status
is 0 only if everything read back equals the FITS images.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

import fits
import h5py
import numpy as np
from mpi4py import MPI

ROWS_PER_TRANSFER = 64
CHUNK = (50, 120)  # does not divide the image sizes: chunks at the edges stay partly unused
SUMMARY = np.dtype([("rows", "<i8"), ("columns", "<i8"), ("low", "<f8"), ("high", "<f8"), ("mean", "<f8")])


class Clock:
    """Seconds with the HDF5 file open, bytes moved and files opened by this rank."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.io_s = 0.0
        self.bytes = 0
        self.opens = 0
        self._entered = 0.0

    def __enter__(self) -> Clock:
        self._entered = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.io_s += time.perf_counter() - self._entered


def share(extent: int, parts: int, part: int) -> slice:
    """The part-th of so many nearly equal pieces of range(extent)."""
    return slice(extent * part // parts, extent * (part + 1) // parts)


def make_synthetic(folder: Path, count: int) -> None:
    """Star fields, the same for the same count: all pixel types of FITS in turn, every second file a gzip stream."""
    random = np.random.default_rng(20011124)
    kinds = [("f4", 1.0, 0.0), ("i2", 0.5, 1000.0), ("f8", 1.0, 0.0), ("i4", 0.25, 0.0), ("u1", 8.0, 0.0)]
    for number in range(count):
        kind, scale, zero = kinds[number % len(kinds)]
        rows, columns = 240 + 16 * (number % 4), 320 - 24 * (number % 3)
        y, x = np.mgrid[0:rows, 0:columns]
        sky = random.normal(200.0, 3.0, (rows, columns))
        for _ in range(12):
            at_y, at_x, flux = random.uniform(0, rows), random.uniform(0, columns), random.uniform(50, 1500)
            sky += flux * np.exp(-((y - at_y) ** 2 + (x - at_x) ** 2) / 8.0)
        stored = (sky - zero) / scale
        if np.dtype(kind).kind in "iu":
            limits = np.iinfo(kind)
            stored = np.clip(np.rint(stored), limits.min, limits.max)
        elif number % len(kinds) == 0:
            stored[0, :4] = np.nan  # blank pixels
        header: dict[str, fits.Value] = {"OBJECT": f"field {number}", "EXPTIME": 1.3 * (number + 1), "FILTER": "j"}
        if (scale, zero) != (1.0, 0.0):
            header |= {"BSCALE": scale, "BZERO": zero}
        fits.write(folder / f"field-{number:03d}.fits", stored.astype(kind), header, compress=number % 2 == 1)


def read_share(paths: list[Path], comm: MPI.Comm) -> dict[int, fits.FitsImage]:
    """Image i is read by rank i mod P. A file that cannot be read ends the program on all ranks."""
    images: dict[int, fits.FitsImage] = {}
    problem = None
    try:
        for number in range(comm.rank, len(paths), comm.size):
            images[number] = fits.read(paths[number])
            if len(images[number].pixels) < comm.size:
                raise fits.FitsError(f"{paths[number].name}: fewer rows than there are ranks")
    except (OSError, fits.FitsError) as error:
        problem = str(error)
    problems = [text for text in comm.allgather(problem) if text is not None]
    if problems:
        raise SystemExit(f"fits2hdf5: {problems[0]}" if comm.rank == 0 else 1)
    return images


def scatter_rows(image: np.ndarray | None, shape: tuple[int, int], root: int, comm: MPI.Comm) -> np.ndarray:
    """Gives each rank its share of the rows of a calibrated image that the root holds."""
    rows = [share(shape[0], comm.size, rank) for rank in range(comm.size)]
    counts = [(part.stop - part.start) * shape[1] for part in rows]
    mine = np.empty((rows[comm.rank].stop - rows[comm.rank].start, shape[1]), "<f4")
    comm.Scatterv(None if image is None else [image, counts, None, MPI.FLOAT], mine, root)
    return mine


def summary_row(calibrated: np.ndarray) -> np.ndarray:
    low, high, mean = np.nanmin(calibrated), np.nanmax(calibrated), np.nanmean(calibrated, dtype="f8")
    return np.array((*calibrated.shape, low, high, mean), SUMMARY)


def put_header(group: h5py.Group, header: dict[str, fits.Value], comments: list[str]) -> None:
    for keyword, value in header.items():
        # Fixed-length strings; HDF5 has none of length 0, so an empty one is stored as one blank.
        group.attrs[keyword] = np.bytes_((value or " ").encode(fits.TEXT)) if isinstance(value, str) else value
    if comments:
        group.attrs["comments"] = np.array([line.encode(fits.TEXT) for line in comments])


def get_header(group: h5py.Group) -> tuple[dict[str, fits.Value], list[str]]:
    header = {
        keyword: value.decode(fits.TEXT).rstrip() if isinstance(value, bytes) else value.item()
        for keyword, value in group.attrs.items()
        if keyword != "comments"
    }
    return header, [line.decode(fits.TEXT) for line in group.attrs.get("comments", [])]


def store(output: str, names: list[str], images: dict[int, fits.FitsImage], comm: MPI.Comm, clock: Clock) -> None:
    """Collective. images holds the ones of this rank, by their number in names."""
    described: dict[int, tuple[dict[str, fits.Value], list[str], tuple[int, int], np.dtype]] = {}
    mine = {n: (i.header, i.comments, i.pixels.shape, i.pixels.dtype) for n, i in images.items()}
    for part in comm.allgather(mine):
        described |= part
    calibrated = {number: image.calibrated() for number, image in images.items()}
    bands = [
        scatter_rows(calibrated.get(number), described[number][2], number % comm.size, comm)
        for number in range(len(names))
    ]

    with clock, h5py.File(output, "w", driver="mpio", comm=comm) as file:
        clock.opens += 1
        # Everything that changes the structure of the file is collective: all ranks create all of it.
        for number, name in enumerate(names):
            header, comments, shape, kind = described[number]
            group = file.create_group(f"images/{name}")
            put_header(group, header, comments)
            group.create_dataset("pixels", shape, kind, track_times=False)
            chunk = (min(CHUNK[0], shape[0]), min(CHUNK[1], shape[1]))
            group.create_dataset("calibrated", shape, "<f4", chunks=chunk, fillvalue=-1.0, track_times=False)
        summary = file.create_dataset("summary", (len(names),), SUMMARY, track_times=False)

        for number, image in images.items():
            pixels = file[f"images/{names[number]}/pixels"]
            for row in range(0, image.pixels.shape[0], ROWS_PER_TRANSFER):
                pixels[row : row + ROWS_PER_TRANSFER] = image.pixels[row : row + ROWS_PER_TRANSFER]
            summary[number] = summary_row(calibrated[number])
            clock.bytes += image.pixels.nbytes + SUMMARY.itemsize
        for name, band in zip(names, bands, strict=True):
            dataset = file[f"images/{name}/calibrated"]
            with dataset.collective:
                dataset[share(dataset.shape[0], comm.size, comm.rank)] = band
            clock.bytes += band.nbytes


def verify(output: str, paths: list[Path], names: list[str], comm: MPI.Comm, clock: Clock) -> list[str]:
    """Compares the file with the FITS images, which are read again; returns what is wrong, the same on all ranks.

    Each rank checks what the next rank wrote. Collective.
    """
    writer = (comm.rank + 1) % comm.size
    images = {number: fits.read(paths[number]) for number in range(writer, len(paths), comm.size)}
    bands = []
    for path in paths:
        calibrated = fits.read(path).calibrated()
        bands.append(calibrated[share(len(calibrated), comm.size, writer)].copy())

    wrong: list[str] = []
    with clock, h5py.File(output, "r", driver="mpio", comm=comm) as file:
        clock.opens += 1
        if sorted(file["images"]) != sorted(names):
            wrong.append("the groups are not the images")
        for number, image in images.items():
            group = file[f"images/{names[number]}"]
            pixels, row = group["pixels"][...], file["summary"][number]
            clock.bytes += pixels.nbytes + SUMMARY.itemsize
            if pixels.dtype != image.pixels.dtype or pixels.tobytes() != image.pixels.tobytes():
                wrong.append(f"{names[number]}: the pixels differ")
            if get_header(group) != (image.header, image.comments):
                wrong.append(f"{names[number]}: the header differs")
            if row.tobytes() != summary_row(image.calibrated()).tobytes():
                wrong.append(f"{names[number]}: the summary differs")
        for name, band in zip(names, bands, strict=True):
            dataset = file[f"images/{name}/calibrated"]
            rows = share(dataset.shape[0], comm.size, writer)
            with dataset.collective:
                stored = dataset[rows]
            clock.bytes += stored.nbytes
            if stored.tobytes() != band.tobytes():
                wrong.append(f"{name}: the calibrated rows {rows.start} to {rows.stop} differ")
    return [text for part in comm.allgather(wrong) for text in part]


def find_images(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and fits.is_fits(path))


def run(arguments: argparse.Namespace, comm: MPI.Comm, folder: Path) -> int:
    paths: list[Path] | None = None
    if comm.rank == 0 and folder.is_dir():
        paths = find_images(folder)
    paths = comm.bcast(paths)
    if not paths:
        if comm.rank == 0:
            print(f"fits2hdf5: no FITS images in {folder}", file=sys.stderr)
        return 2
    names = [path.name for path in paths]
    clock = Clock()
    images = read_share(paths, comm)
    store(arguments.output, names, images, comm, clock)
    wrong = verify(arguments.output, paths, names, comm, clock)
    io_s = comm.reduce(clock.io_s, MPI.MAX)
    other_s = comm.reduce(time.perf_counter() - clock.began - clock.io_s, MPI.MAX)
    total = comm.reduce(clock.bytes)
    if comm.rank == 0:
        for text in wrong:
            print(f"fits2hdf5: {text}")
        print(f"fits2hdf5: {len(paths)} images, HDF5 {h5py.version.hdf5_version}, h5py {h5py.version.version}")
        print(
            f"fits2hdf5: verification={'FAILED' if wrong else 'passed'} ranks={comm.size} opens={clock.opens} "
            f"bytes={total} compute_s={other_s:.6f} io_s={io_s:.6f}"
        )
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="FITS images into one HDF5 file, in parallel; read back and verified")
    parser.add_argument("--output", required=True, help="the HDF5 file: anything MPI_File_open accepts")
    parser.add_argument("--images", type=Path, help="folder of FITS images; without it, synthetic ones are made")
    parser.add_argument("--synthetic", type=int, default=10, metavar="COUNT", help="how many to make (default 10)")
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    if not h5py.get_config().mpi:
        raise SystemExit("fits2hdf5: this h5py is built without MPI")
    if arguments.images is not None:
        return run(arguments, comm, arguments.images)
    with tempfile.TemporaryDirectory(prefix="fits2hdf5-") as own:
        folder = Path(comm.bcast(own if comm.rank == 0 else None))
        if comm.rank == 0:
            make_synthetic(folder, arguments.synthetic)
        comm.barrier()
        status = run(arguments, comm, folder)
        comm.barrier()
        return status


def main_or_abort() -> int:
    """One rank that fails alone must not leave the others waiting in a collective call."""
    try:
        return main()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
        raise


if __name__ == "__main__":
    sys.exit(main_or_abort())
