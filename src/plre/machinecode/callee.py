"""Kernels as other kernels call them: LLVM code to be linked into that of their callers.

Numba would optimise such a kernel by itself, make machine code of it and wrap it for Python, though its callers contain
it and are optimised as a whole: that took a third of the time until a first answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import make_concrete_template


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
        library._optimize_final_module = lambda: None
        library._finalize_final_module = lambda: setattr(library, "_finalized", True)
        return cls(result.signature, result.fndesc, result.environment, library)


class _Compiler(_FunctionCompiler):  # type: ignore[misc]
    """Numba's compiler of a function, up to its LLVM code."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return flags


def use_environments(result: Any) -> None:
    """Tell machine code where the objects of Python are that the callees in it use; a kernel for C uses none."""
    for environment in result._find_referenced_environments() if result.entry_point else ():
        result.library.codegen.set_env(environment.env_name, environment)


class Callee:
    """What other kernels ask of a kernel, which numba asks of ``dispatcher``; ``cache`` keeps it between processes."""

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
        own = self._dispatcher._compiler
        return _Compiler(own.py_func, own.targetdescr, own.targetoptions, own.locals, own.pipeline_class)
