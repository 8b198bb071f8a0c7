"""Kernels as other kernels call them: LLVM code to be linked into that of their callers.

Numba would optimise such a kernel by itself, make machine code of it and wrap it for Python, though its callers contain
it and are optimised as a whole: that took a third of the time until a first answer.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import make_concrete_template

for _name in ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_ensure_finalized"):
    if not hasattr(JITCodeLibrary, _name):
        raise ImportError(f"this numba has no {_name}")


@dataclass(frozen=True, eq=False)
class Linkable:
    """A kernel for certain types, ready to be linked into others."""

    signature: Any
    #: Numba's description of the function, which is also the key under which callers find it.
    described: Any
    #: Objects of Python that it uses, such as the parts of an error message.
    environment: Any
    library: Any

    @classmethod
    def of(cls, result: Any) -> Linkable:
        """Take what numba compiled, and see to it that its library is linked only."""
        library = result.library

        def finish() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library._optimize_final_module, library._finalize_final_module = (lambda: None), finish
        library._ensure_finalized()  # now it contains its own callees
        return cls(result.signature, result.fndesc, result.environment, library)


def _up_to_llvm(flags: Any) -> Any:
    """Let numba compile no further than to LLVM code."""
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    return flags


def use_environments(result: Any) -> None:
    """Tell machine code where the objects of Python are that the callees in it use."""
    if result.entry_point is None:  # a kernel for C, of which there is no machine code before it is asked for
        result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    for environment in result._find_referenced_environments():
        result.library.codegen.set_env(environment.env_name, environment)


class Callee:
    """What other kernels ask of a kernel, which numba asks of ``dispatcher``; ``cache`` keeps it between processes.

    Numba asks under its lock. A kernel must not call itself: it would be compiled for ever.
    """

    def __init__(self, dispatcher: Any, cache: Any) -> None:
        self._dispatcher = dispatcher
        self._cache = cache
        self._linkable: dict[tuple[Any, ...], Linkable] = {}

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The type of a call with arguments of these types, as numba's dispatcher gives it."""
        python_signature, args = self._dispatcher.fold_argument_types(args, kws)
        name = self._dispatcher.py_func.__name__
        template: Any = make_concrete_template
        return template(name, key=name, signatures=[self._get(args).signature]), python_signature, args, {}

    def get_overload(self, signature: Any) -> Any:
        """The key under which callers find the code for this signature."""
        normalised: Any = normalize_signature
        return self._get(normalised(signature)[0]).described

    def _get(self, args: tuple[Any, ...]) -> Linkable:
        linkable = self._linkable.get(args)
        if linkable is None:
            context = self._dispatcher.targetctx
            linkable = self._cache.load_overload(args, context)
            if linkable is None:
                linkable = Linkable.of(self._compiler.compile(args, None))
                self._cache.save_overload(args, linkable)
            context.insert_user_function(linkable.described, linkable.described, [linkable.library])
            self._linkable[args] = linkable
        return linkable

    @property
    def _compiler(self) -> Any:
        compiler = copy(self._dispatcher._compiler)
        compiler._customize_flags = _up_to_llvm
        return compiler
