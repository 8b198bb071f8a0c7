"""Where machine code is kept: beside the package, or in a folder of this user, or in a temporary one.

Whoever can write into such a folder decides what this process runs. So a folder outside the package that nobody chose
is used only if it belongs to this user and nobody else can write to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plre.machinecode.sources import PACKAGE

#: A place has a folder for each combination of sources, versions and processor; so many of them are kept.
_KEPT = 8


@dataclass(frozen=True)
class Place:
    """A folder for machine code, and which rights of others make it unusable (no bits: its owner does not matter)."""

    folder: Path
    forbidden: int = 0

    def is_safe(self) -> bool:
        """Whether it exists, and nobody else can have written what is in it."""
        try:
            found = os.lstat(self.folder) if self.forbidden else os.stat(self.folder)
        except OSError:
            return False
        private = not self.forbidden or not hasattr(os, "getuid")
        return stat.S_ISDIR(found.st_mode) and (
            private or (found.st_uid == os.getuid() and not found.st_mode & self.forbidden)
        )

    def is_writable(self) -> bool:
        """Whether it can be written to; it is made if it does not exist."""
        try:
            self.folder.mkdir(mode=0o700 if self.forbidden else 0o777, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError:
            return False
        return self.is_safe()


def places(chosen: str | None = None) -> list[Place]:
    """The folders in which to look for machine code, those to be preferred first; ``chosen`` replaces all others."""
    if chosen:
        return [Place(Path(chosen) / "plre")]
    found = [Place(PACKAGE / "__pycache__" / "kernels")]
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):  # there is no home
        home = Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"
        found.append(Place(home / "plre" / "kernels", forbidden=0o022))
    with contextlib.suppress(OSError):  # there is no temporary folder
        temporary = tempfile.gettempdir()
        if temporary != os.getcwd():  # Python's last resort, and no place for a cache
            user = os.getuid() if hasattr(os, "getuid") else "user"
            found.append(Place(Path(temporary) / f"plre-kernels-{user}", forbidden=0o077))
    return found


def first_writable(candidates: Sequence[Place]) -> Place | None:
    """The first of the places that can be written to."""
    return next((place for place in candidates if place.is_writable()), None)


def forget_old(place: Path, current: str) -> None:
    """Remove those folders of a place that have not been used for longest, such as those of older sources."""
    with contextlib.suppress(OSError):
        folders = [path for path in place.iterdir() if path.name != current and path.is_dir()]
        folders.sort(key=lambda path: path.stat().st_mtime)
        for path in folders[: max(0, len(folders) + 1 - _KEPT)]:
            shutil.rmtree(path, ignore_errors=True)
