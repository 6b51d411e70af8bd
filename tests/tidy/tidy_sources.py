"""Checks of the source tree, as pure functions from a tree (path -> text) to a list of complaints. The tests run each of
them twice: on this repository, where it must find nothing, and on a made-up bad tree, where it must find the fault.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

Tree = Mapping[str, str]

ROOT = Path(__file__).resolve().parents[2]

# Where mpi.h may be included: the rooms made of MPI, and programs that use MPI as any user does.
MPI_FOLDERS = ("src/mpi/", "src/stream/", "tests/", "examples/", "bench/", "include/suiro/")

LINE_LIMIT = 600
# path -> why it may be longer
LONG_FILES: dict[str, str] = {
    "LICENSE": "the licence text",
    "examples/multipart/multipart.f90": "a complete example program that is compiled from one file",
}
SOURCE_SUFFIXES = (".c", ".cc", ".h", ".S", ".def", ".f90", ".F90", ".f", ".py", ".sh", ".cmake", ".toml", ".in", ".1", ".txt")


def repository() -> dict[str, str]:
    """Every text file that is under version control or about to be (not ignored)."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    tree = {}
    for name in sorted(set(filter(None, listed))):
        path = ROOT / name
        if path.is_file():
            try:
                tree[name] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # images and the like
                continue
    return tree


# --- rooms ------------------------------------------------------------------------------------------------------------


def without_cmake_comments(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def rooms(tree: Tree) -> dict[str, tuple[str, list[str]]]:
    """Room name -> (folder, the rooms it names under LINKS), from every suiro_room(...) call below src/."""
    found = {}
    for path, text in tree.items():
        if not (path.startswith("src/") and path.endswith("CMakeLists.txt")):
            continue
        for arguments in re.findall(r"\bsuiro_room\(([^)]*)\)", without_cmake_comments(text)):
            words = arguments.split()
            links = words[words.index("LINKS") + 1 :] if "LINKS" in words else []
            if "SOURCES" in links:
                links = links[: links.index("SOURCES")]
            found[words[0]] = (path.rpartition("/")[0], links)
    return found


def reachable(links: Mapping[str, list[str]], start: str) -> set[str]:
    """All rooms below `start`, itself included."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += links.get(room, [])
    return seen


def layer_faults(tree: Tree) -> list[str]:
    """Includes of a room that is not below the including one, rooms that depend on each other in a circle, LINKS that
    name no room, and sources below src/ that belong to no room although they lie in a room's folder tree."""
    declared = rooms(tree)
    links = {name: lower for name, (_, lower) in declared.items()}
    faults = []
    for name, lower in links.items():
        faults += [f"src room '{name}' links '{other}', which is no room" for other in lower if other not in declared]
        if any(name in reachable(links, other) for other in lower):
            faults.append(f"room '{name}' depends on itself through {', '.join(lower)}")
    folders = {folder: name for name, (folder, _) in declared.items()}
    for path, text in tree.items():
        if not (path.startswith("src/") and path.endswith((".c", ".cc", ".h"))):
            continue
        room = _room_of(path, folders)
        for line, included in _project_includes(text):
            target = _room_of("src/" + included, folders)
            if target is None or room is None:
                continue
            if target not in reachable(links, room):
                faults.append(f"{path}:{line}: room '{room}' includes {included} of '{target}', which is not below it")
    return faults


def _room_of(path: str, folders: Mapping[str, str]) -> str | None:
    """The room whose folder is the deepest one above `path`."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in folders:
            return folders[folder]
        folder = folder.rpartition("/")[0]
    return None


def _project_includes(text: str) -> list[tuple[int, str]]:
    """(line number, path) of every #include "room/file"."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+/[^"]+)"', line)
        if match:
            found.append((number, match.group(1)))
    return found


def mpi_header_faults(tree: Tree) -> list[str]:
    """mpi.h (or the ABI's) outside the folders that are made of MPI."""
    return [
        f"{path}:{number}: includes an MPI header; only {', '.join(MPI_FOLDERS)} may"
        for path, text in tree.items()
        if path.endswith((".c", ".cc", ".h", ".S")) and not path.startswith(MPI_FOLDERS)
        for number, line in enumerate(text.splitlines(), 1)
        if re.match(r'\s*#\s*include\s+[<"](mpi|mpi_abi|mpio|pmpi)\.h[>"]', line)
    ]


# --- files ------------------------------------------------------------------------------------------------------------


def unregistered_tests(tree: Tree, python_folders: list[str]) -> list[str]:
    """Sources below tests/ that no CMakeLists.txt above them names (by file name or without its ending), and Python tests
    outside the folders that pytest is told to collect."""
    faults = []
    for path in tree:
        folder, _, name = path.rpartition("/")
        if not path.startswith("tests/"):
            continue
        if name.lower().endswith((".cc", ".c", ".f90", ".f")):
            stem = name.rpartition(".")[0]
            cmake = [without_cmake_comments(text) for file, text in tree.items() if _is_cmake_above(file, folder)]
            if not any(re.search(rf"(?<![\w.]){re.escape(stem)}(\.\w+)?(?![\w.])", text) for text in cmake):
                faults.append(f"{path}: no CMakeLists.txt names it")
        if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
            if not any(path.startswith(f"{collected}/") for collected in python_folders):
                faults.append(f"{path}: outside of pytest's testpaths ({', '.join(python_folders)})")
    return faults


def _is_cmake_above(file: str, folder: str) -> bool:
    if not file.endswith(("CMakeLists.txt", ".cmake")):
        return False
    return f"{folder}/".startswith(f"{file.rpartition('/')[0]}/")


def long_files(tree: Tree, allowed: Mapping[str, str]) -> list[str]:
    """Sources above the line limit that nobody gave a reason for, and reasons for files that are short or gone."""
    faults = []
    for path, text in tree.items():
        lines = text.count("\n")
        if lines > LINE_LIMIT and path.endswith(SOURCE_SUFFIXES) and path not in allowed:
            faults.append(f"{path}: {lines} lines, the limit is {LINE_LIMIT}: split it, or say in LONG_FILES why not")
    return faults + [f"LONG_FILES: {path} does not exist" for path in allowed if path not in tree]


# Homes (but /home/x, nobody's), and places where this project is built. Others, as /work/project, are fine examples.
FOREIGN_PLACES = re.compile(
    r"(?<![\w.$}/])/(?:root|home/(?!x\b)\w+|work/(?:main|shared|\.\w+))(?:/|\b)|(?<![\w.$}/])/tmp/(?:build-|bash_|helper)"
)


def foreign_paths(tree: Tree) -> list[str]:
    """Paths of somebody's own machine."""
    return [
        f"{path}:{number}: names a place on one particular machine: {line.strip()[:80]}"
        for path, text in tree.items()
        for number, line in enumerate(text.splitlines(), 1)
        if FOREIGN_PLACES.search(line)
    ]
