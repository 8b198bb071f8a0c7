"""The cache of a kernel's machine code, as numba asks for it.

Numba's own cache asks for the source file's time, one writable folder and the very same processor, and looks only at
the file that a kernel stands in, though kernels use functions and constants across files.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from plre.machinecode import notice
from plre.machinecode.callee import Linkable, use_environments
from plre.machinecode.sources import PACKAGE, file_key
from plre.machinecode.store import store

Function = Callable[..., Any]


def describe(function: Function) -> str | None:
    """A text that is the same in every process and says which function it is; None if there is no such text.

    Sources in the package are part of every key; for a function from elsewhere its own file is. Functions with other
    values around them (closures) have none: in different processes, numba may give different ones the same name.
    """
    code = function.__code__
    outside = PACKAGE not in Path(code.co_filename).parents
    if function.__closure__ or (outside and not file_key(code.co_filename)):
        return None
    parts = function.__module__, function.__qualname__, code.co_firstlineno, _hash(code.co_code)
    return repr((*parts, file_key(code.co_filename) if outside else ""))


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=12).hexdigest()


class KernelCache(_Cache):  # type: ignore[misc]
    """The cache of one kernel, as numba asks for it; ``options`` are those it is compiled with."""

    def __init__(self, function: Function, options: object) -> None:
        self._function = function
        self._options = options
        self._enabled = True

    @cached_property
    def _description(self) -> str | None:
        return describe(self._function)

    def _entry(self, signature: Any) -> str | None:
        """The file name of the machine code for these types; None if it cannot be kept."""
        if not self._enabled or self._description is None:
            return None
        types, result = normalize_signature(signature)  # type: ignore[no-untyped-call]
        text = f"{self._description} {self._options} {tuple(map(str, types))} {result}"
        if " at 0x" in text:  # a function as argument, which is another one in each process
            return None
        name = f"{self._function.__module__.removeprefix('plre.')}.{self._function.__qualname__}"
        return f"{re.sub('[^a-zA-Z0-9_.]', '', name)}-{_hash(text.encode())}.code"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None: then numba compiles it."""
        name = self._entry(sig)
        loaded = name and self._load(name, target_context)
        if name and not loaded and store.turns:
            store.turns.begin(name)
            loaded = self._load(name, target_context)
        if not loaded:
            notice.compiling(lambda: store.place and store.place.folder)
        return loaded or None

    def _load(self, name: str, target_context: Any) -> Any:
        content = store.read(name)
        if content is None:
            return None
        with contextlib.suppress(Exception):  # what cannot be used is compiled again
            rtsys.initialize(target_context)
            return self._unpack(content, target_context)
        return None

    def _unpack(self, content: bytes, target_context: Any) -> Any:
        needed, payload = pickle.loads(content)
        # Numba would load all it knows first, which takes longer than everything else here.
        if not all(map(llvm.address_of_symbol, needed)):
            target_context.refresh()
        rebuild: Any = CompileResult._rebuild
        return rebuild(target_context, *payload)

    def _pack(self, data: Any) -> bytes | None:
        if data.library.has_dynamic_globals or data.lifted:
            return None
        payload = data._replace(type_annotation="")._reduce()
        packed: bytes = dumps((_symbols(data.library), payload))  # type: ignore[no-untyped-call]
        return packed

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what numba compiled."""
        use_environments(data)
        self._save(sig, data)

    def _save(self, sig: Any, data: Any) -> None:
        store.compiled.append(f"{self._function.__module__}.{self._function.__qualname__}")
        name = self._entry(sig)
        if name is None:
            return
        with contextlib.suppress(Exception):  # what cannot be kept is compiled again
            if packed := self._pack(data):
                store.write(name, packed)
        if store.turns:
            store.turns.end(name)

    @property
    def cache_path(self) -> str | None:
        """Where machine code is kept."""
        return str(store.place.folder) if store.place else None

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Always compile."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: an entry is only replaced."""


class CalleeCache(KernelCache):
    """The cache of a kernel as other kernels call it (``callee.py``): LLVM code instead of machine code."""

    def save_overload(self, sig: Any, data: Linkable) -> None:
        """Keep what was compiled."""
        self._save(sig, data)

    def _unpack(self, content: bytes, target_context: Any) -> Linkable:
        signature, described, environment, code = pickle.loads(content)
        library = target_context.codegen().create_library(described.qualname)
        library._final_module = llvm.parse_bitcode(code)
        library._finalized = True
        return Linkable(signature, described, environment, library)

    def _pack(self, data: Linkable) -> bytes | None:
        data.described.typemap = data.described.calltypes = None  # not needed any more, and large
        if data.library.has_dynamic_globals:
            return None
        code = data.library._final_module.as_bitcode()
        packed: bytes = dumps((data.signature, data.described, data.environment, code))  # type: ignore[no-untyped-call]
        return packed


def _symbols(library: Any) -> list[str]:
    """The functions and variables that machine code needs from outside."""
    module = library._final_module
    return [
        symbol.name
        for symbols in (module.functions, module.global_variables)
        for symbol in symbols
        if symbol.is_declaration and not symbol.name.startswith("llvm.")
    ]
