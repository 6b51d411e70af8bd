"""Where the compiled files are: SUIRO_BUILD_DIR (set by tools/check), else build/release."""

import os
from pathlib import Path

import pytest
from tidy_sources import ROOT


@pytest.fixture(scope="session")
def build_dir():
    """A function from a file's name to its path in the build tree. A missing file is a failure, never a skip."""
    folder = Path(os.environ.get("SUIRO_BUILD_DIR", ROOT / "build" / "release"))

    def find(name: str) -> Path:
        if not name:
            return folder
        found = sorted(path for path in folder.rglob(name) if path.is_file())
        assert found, f"{name} is not below {folder}: build first"
        return found[0]

    return find
