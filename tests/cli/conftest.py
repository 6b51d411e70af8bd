"""How the tests of the command run it: as a user does, in an empty directory and with an environment of their own."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("SUIRO_BUILD_DIR", Path(__file__).parents[2] / "build" / "release")).absolute()
SUIRO = BUILD / "programs" / "suiro"
LIBRARY = BUILD / "src" / "preload" / "libsuiro.so"


@dataclasses.dataclass
class User:
    """A user in a directory, with a home and an environment that hold nothing of the real ones but the PATH."""

    directory: Path
    environment: dict[str, str]

    def run(self, command: list[str | Path], timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in command],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )

    def suiro(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run([SUIRO, *words])

    def program(self, name: str, text: str = "#!/bin/sh\nexit 0\n") -> Path:
        """An executable script in the first directory of the PATH."""
        path = self.directory / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def user(tmp_path: Path) -> User:
    directory = tmp_path.resolve() / "work"
    (directory / "bin").mkdir(parents=True)
    environment = {
        "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    return User(directory, environment)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    """Compiles a C program once: compiled(name, source, *arguments, compiler="cc")."""
    folder = tmp_path_factory.mktemp("programs")
    made: dict[str, Path] = {}

    def compile_program(name: str, source: str, *arguments: str, compiler: str = "cc") -> Path:
        if name not in made:
            file = folder / f"{name}.c"
            file.write_text(source)
            subprocess.run([compiler, "-o", folder / name, file, *arguments], check=True, timeout=60)
            made[name] = folder / name
        return made[name]

    return compile_program
