"""Judges what runs left behind: are the files the same, and did they really go through Suiro?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_CHUNK_BYTES = 1 << 20
_OPENED = re.compile(r"^suiro: info: opened (?P<path>.+?) preset=(?P<preset>\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Opened:
    """One routed open, as rank 0 logged it."""

    path: str
    preset: str


def routed_opens(log: str) -> list[Opened]:
    """The routed opens in the error output of a run."""
    return [Opened(match["path"], match["preset"]) for match in _OPENED.finditer(log)]


def routing_problems(opens: list[Opened], preset: str, program_opens: int, files: Iterable[Path]) -> list[str]:
    """Why the log does not prove that all of the program's files went through this preset; empty if it does.

    program_opens is how often the program says it opened a file, files are the ones it left behind.
    """
    if not opens:
        return ["no routed open in the log: the program ran without Suiro"]
    problems = [
        f"{opened.path} went through preset {opened.preset}, not {preset}"
        for opened in opens
        if opened.preset != preset
    ]
    if len(opens) < program_opens:
        problems.append(f"{len(opens)} routed opens, but the program opened files {program_opens} times")
    seen = {Path(opened.path).resolve() for opened in opens}
    problems += [f"{file.name} was never opened through Suiro" for file in files if file.resolve() not in seen]
    return problems


def files_below(folder: Path) -> dict[str, Path]:
    """All files below a folder, by their relative name."""
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if not path.is_dir()}


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def first_difference(left: Path, right: Path) -> int | None:
    """Offset of the first byte that differs, where a file that ends early differs at its end; None if equal."""
    offset = 0
    with left.open("rb") as a, right.open("rb") as b:
        while True:
            ours, theirs = a.read(_CHUNK_BYTES), b.read(_CHUNK_BYTES)
            if ours != theirs:
                common = min(len(ours), len(theirs))
                return offset + next((i for i in range(common) if ours[i] != theirs[i]), common)
            if not ours:
                return None
            offset += len(ours)


def differences(native: Path, routed: Path) -> list[str]:
    """What distinguishes the files of two folders, byte for byte; empty only if both hold the same, at least one."""
    left, right = files_below(native), files_below(routed)
    if not left:
        return ["the native run left no file"]
    found = [f"{name} is missing" for name in left if name not in right]
    found += [f"{name} is too many" for name in right if name not in left]
    for name in left.keys() & right.keys():
        place = first_difference(left[name], right[name])
        if place is not None:
            sizes = left[name].stat().st_size, right[name].stat().st_size
            found.append(f"{name} differs from byte {place} on ({sizes[0]} and {sizes[1]} bytes)")
        elif sha256(left[name]) != sha256(right[name]):
            found.append(f"{name} changed while it was compared")
    return sorted(found)


def filesystem_type(path: Path, mounts: str | None = None) -> str:
    """Type of the file system that holds path (which must exist), from the kernel's list of mounts."""
    text = Path("/proc/self/mounts").read_text(encoding="utf-8") if mounts is None else mounts
    target, best, kind = path.resolve(), -1, "unknown"
    for line in text.splitlines():
        _, point, fs_type, *_ = line.split(" ")
        mount = Path(point.encode("ascii", "backslashreplace").decode("unicode_escape"))
        if target.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), fs_type
    return kind
