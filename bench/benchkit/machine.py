"""What the figures were measured on. Names no host and no directory."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from pathlib import Path

# File systems whose data lies on this machine. Anything else may be a network away.
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "overlay"}


def filesystem_type(path: Path, mounts: str | None = None) -> str:
    """The type of the file system that holds path: that of the longest mount point above it, the last mounted one."""
    text = mounts if mounts is not None else Path("/proc/self/mounts").read_text(encoding="utf-8")
    place = path.resolve()
    found, depth = "", -1
    for line in text.splitlines():
        _, point, kind = line.split()[:3]
        mount = Path(point.replace("\\040", " "))
        if (place == mount or mount in place.parents) and len(mount.parts) >= depth:
            found, depth = kind, len(mount.parts)
    return found


def _first_value(text: str, key: str) -> str:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def revision(root: Path) -> str:
    """The commit of the sources, with "+changes" when the tree is not as committed; "unknown" outside of git."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--dirty=+changes"]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()
    return "unknown"


def describe(directory: Path, root: Path) -> dict[str, object]:
    cpu = _first_value(Path("/proc/cpuinfo").read_text(encoding="utf-8"), "model name")
    memory = _first_value(Path("/proc/meminfo").read_text(encoding="utf-8"), "MemTotal").removesuffix(" kB")
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory) / 2**20, 1) if memory.isdigit() else None,
        "kernel": platform.release(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "unknown"),
        "file_system": filesystem_type(directory),
        "load_before": round(os.getloadavg()[0], 2),
        "suiro": revision(root),
    }
