"""How much memory this process may use, and giving back to the system what it does not use any more."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: What is assumed where the system does not say.
_UNKNOWN = 4 * 10**9


def usable_memory(root: str = "/") -> int:
    """Bytes of memory that this process may use: the machine's, or less where a container (a cgroup) has a limit.

    ``root`` is where the system's files are.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else _UNKNOWN
    return min([machine, *_limits(Path(root))])


def _limits(root: Path) -> Iterator[int]:
    """The limits of all cgroups that this process is in, from the innermost out."""
    for hierarchy, file, group in _groups(root):
        for each in (group, *group.parents):
            try:
                written = (hierarchy / str(each).lstrip("/") / file).read_text().strip()
            except OSError:
                continue  # in a container the group's own folder may be the top one
            if written.isdigit() and int(written) > 0:  # version 2 says "max" where there is no limit
                yield int(written)


def _groups(root: Path) -> Iterator[tuple[Path, str, PurePosixPath]]:
    """Where the memory limits of this process's groups are written, for either version of cgroups."""
    folder = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            yield folder, "memory.max", PurePosixPath(group)
        elif "memory" in controllers.split(","):
            yield folder / "memory", "memory.limit_in_bytes", PurePosixPath(group)


def give_back() -> None:
    """Give memory that was freed back to the system; the C library keeps much of it for later otherwise."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
