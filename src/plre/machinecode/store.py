"""The files of machine code: one for each kernel and its types, in a folder for all that decides what it is.

The folder's name stands for sources, versions and processor, so nothing in it is ever out of date: it may be read from
where nothing can be written, be part of a wheel (``packed.py``), and be written to by several processes at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config
from numba.core.registry import cpu_target

from plre.machinecode.baseline import baseline_of
from plre.machinecode.packed import ABOUT, Packed
from plre.machinecode.places import Place, first_writable, forget_old, places
from plre.machinecode.sources import source_key
from plre.machinecode.turns import Turns

#: Numba's settings that change what a function is compiled to.
_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUG_JIT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "USING_SVML")

_CHECKSUM = 16


def toolchain() -> dict[str, Any]:
    """What machine code is made from and with; it is used only where all of this is the same."""
    return {
        "format": 1,
        "sources": source_key(),
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": int(np.__version__.split(".")[0]),
        "settings": {name: str(getattr(config, name, None)) for name in _SETTINGS},
    }


def processor() -> dict[str, str]:
    """What numba compiles for: the system, the processor's name, and its features as LLVM writes them."""
    system, name, features = map(str, cpu_target.target_context.codegen().magic_tuple())
    return {"system": system, "name": name, "features": features}


class CodeStore:
    """All machine code that this process can find, and the place where it keeps what it compiles."""

    def __init__(self) -> None:
        #: The kernels that this process has compiled, and the files that it has loaded.
        self.compiled: list[str] = []
        self.loaded: list[Path] = []
        #: Set where several processes compile the same kernels (``plre warmup``).
        self.turns: Turns | None = None
        self._places = places(getattr(config, "CACHE_DIR", None))

    @cached_property
    def about(self) -> dict[str, Any]:
        """What this process compiles with and for."""
        return toolchain() | {"processor": processor()}

    @cached_property
    def folder_names(self) -> list[str]:
        """The folder for what this process compiles, and that for the baseline processor if its code runs here."""
        made_for = [self.about["processor"], baseline_of(self.about["processor"])]
        return [_folder_name(self.about | {"processor": processor}) for processor in made_for if processor]

    @cached_property
    def packed(self) -> Packed:
        """The machine code that came with the package."""
        return Packed(self.about)

    @property
    def is_empty(self) -> bool:
        """Whether there is no machine code for this process yet."""
        folders = (place.folder / name for place in self._places for name in self.folder_names)
        return self.packed.misfit is not None and not any(folder.is_dir() for folder in folders)

    @cached_property
    def place(self) -> Place | None:
        """Where machine code is kept, or None if there is no folder to write to."""
        return first_writable(self._places)

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None if there is none (or one that was damaged)."""
        for path in self._candidates(name):
            with contextlib.suppress(OSError):
                whole = path.read_bytes()
                content = whole[_CHECKSUM:]
                if whole[:_CHECKSUM] == _checksum(content):
                    self._use(path)
                    return content
        return None

    def _candidates(self, name: str) -> Iterator[Path]:
        safe = [place.folder for place in self._places if place.is_safe()]
        own, *baseline = self.folder_names
        yield from (folder / own / name for folder in safe)
        yield from self.packed.find(name)
        yield from (folder / other / name for other in baseline for folder in safe)

    def _use(self, path: Path) -> None:
        if path.parent not in (used.parent for used in self.loaded):
            with contextlib.suppress(OSError):
                os.utime(path.parent)  # not a folder to be forgotten
        self.loaded.append(path)

    def write(self, name: str, content: bytes) -> None:
        """Add a file, whole or not at all; if it cannot be written, nothing is kept."""
        if self.place is None:
            return
        current = self.folder_names[0]
        folder = self.place.folder / current
        with contextlib.suppress(OSError):
            if not folder.is_dir():
                forget_old(self.place.folder, current)
                folder.mkdir(exist_ok=True)
                _replace(folder / ABOUT, json.dumps(self.about, indent=1).encode())
            _replace(folder / name, _checksum(content) + content)


def _folder_name(about: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=8).hexdigest()


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM).digest()


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


store = CodeStore()
