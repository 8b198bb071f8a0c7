"""How every kernel is compiled.

Kernels are plain loops over flat arrays. They release the GIL, so Python threads run them side by side; their
machine code is cached on disk, so compiling happens once per machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import njit, types
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature

from plre.machinecode.collector import collector_paused

try:
    from plre.machinecode.cache import CalleeCache, KernelCache
    from plre.machinecode.callee import Callee
    from plre.machinecode.pipeline import KernelPipeline
except ImportError:  # a numba that has changed inside: compile in each process, and each kernel by itself
    CalleeCache = KernelCache = Callee = None  # type: ignore[assignment, misc]
    from numba.core.compiler import Compiler as KernelPipeline  # type: ignore[assignment]

Kernel = Callable[..., Any]

#: Lets sums be reordered, which is what makes them vectorise; infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def _compile(function: Kernel, **options: Any) -> Kernel:
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    compiled: Any = njit(**options, pipeline_class=KernelPipeline)(function)
    compiled._cache = _cache(KernelCache, function, options)
    compiled.compile = collector_paused(compiled.compile)
    if Callee is not None:
        callee = Callee(compiled, _cache(CalleeCache, function, {**options, "callee": True}))
        compiled.get_overload, compiled.get_call_template = callee.get_overload, callee.get_call_template
    find = compiled.get_call_template
    # A kernel that is called with a constant would be compiled for that constant, and again for the next.
    compiled.get_call_template = lambda args, kws: find(tuple(map(types.unliteral, args)), kws)
    return compiled


def _cache(kind: Any, function: Kernel, options: dict[str, Any]) -> Any:
    return kind(function, {**options, "fastmath": sorted(options.get("fastmath", ()))}) if kind else NullCache()


def kernel(function: Kernel) -> Kernel:
    """Compile with exact, left-to-right floating point."""
    return _compile(function)


def fast_kernel(function: Kernel) -> Kernel:
    """Compile with sums that may be reordered (and therefore vectorised)."""
    return _compile(function, fastmath=_FAST)


def inner_kernel(function: Kernel) -> Kernel:
    """Compile as ``fast_kernel`` does, into each kernel that calls it: a call would cost as much as its work."""
    return _compile(function, fastmath=_FAST, forceinline=True)


class Direct:
    """A kernel for questions that take less than a microsecond: for these types only, called past numba's dispatcher.

    ``entry`` is what to call; it is compiled (or fetched from the cache) when it is first asked for. It keeps the GIL:
    to give it back and take it again would take as long as the answer.
    """

    def __init__(self, function: Kernel, argument_types: tuple[Any, ...]) -> None:
        self._function = function
        self._types = argument_types

    @cached_property
    def entry(self) -> Kernel:
        """The compiled function."""
        compiled: Any = _compile(self._function, nogil=False)
        return compiled.compile(self._types)


def direct(*argument_types: Any) -> Callable[[Kernel], Direct]:
    """Make a :class:`Direct` kernel."""
    return lambda function: Direct(function, argument_types)


class CKernel:
    """A kernel with the calling convention of C, which other kernels call by its address.

    A kernel that gets addresses compiles without what stands behind them: a model brings only the functions of its
    own components, and each is compiled once, not once in every caller. See ``call_address`` in ``_memory.py``.
    """

    def __init__(self, function: Kernel, signature: Any, options: dict[str, Any]) -> None:
        self._function = function
        self._signature = signature
        self._options = options
        self._compiled: Any = None

    @property
    def address(self) -> int:
        """The address of the machine code; it is compiled (or fetched from the cache) when first asked for."""
        if self._compiled is None:
            with global_compiler_lock, collector_paused:  # type: ignore[no-untyped-call]
                if self._compiled is None:
                    self._compiled = self._compile()
        return int(self._compiled.address)

    def _compile(self) -> Any:
        make: Any = CFunc
        compiled = make(self._function, normalize_signature(self._signature), {}, self._options, KernelPipeline)  # type: ignore[no-untyped-call]
        compiled._cache = _cache(KernelCache, self._function, {"cfunc": True, **self._options})
        compiled.compile()
        return compiled


def c_kernel(signature: str, fast: bool = False) -> Callable[[Kernel], CKernel]:
    """Make a :class:`CKernel` with this signature, such as ``"int64(int64, int64, float64)"``.

    Arguments are int64 or float64; so is the result, or there is none (``void``). An exception cannot leave it:
    numba would print it and return an undefined number, so it must not raise. ``fast`` is as in ``fast_kernel``.
    """
    options = {"nopython": True, "error_model": "numpy", **({"fastmath": _FAST} if fast else {})}
    return lambda function: CKernel(function, signature, options)
