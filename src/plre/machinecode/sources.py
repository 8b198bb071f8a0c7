"""Which source files decide what machine code a kernel becomes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
#: The files beside this one that decide how kernels are compiled and kept.
HOW = ("cache.py", "callee.py", "pipeline.py")


def is_kernel_source(name: str) -> bool:
    """Whether a file of this name may end up in machine code: kernels may import nothing of plre but such files.

    >>> [is_kernel_source(name) for name in ("_kernels.py", "_memory.py", "__init__.py", "_version.py", "lm.py")]
    [True, True, False, False, False]
    """
    return name.startswith("_") and not name.startswith("__") and name.endswith(".py") and name != "_version.py"


def kernel_sources(root: Path = PACKAGE) -> Iterator[Path]:
    """The kernel sources below a folder, in a fixed order."""
    for path in sorted(root.rglob("*.py")):
        if is_kernel_source(path.name):
            yield path


@cache
def source_key(root: Path = PACKAGE) -> str:
    """A hash of all kernel sources, since kernels call each other across files, and of what compiles and keeps them."""
    digest = hashlib.blake2b(digest_size=16)
    for path in (*kernel_sources(root), *(root / "machinecode" / name for name in HOW)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def file_key(path: str) -> str:
    """A hash of one file, for kernels that are defined outside the package; empty if it cannot be read."""
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""
