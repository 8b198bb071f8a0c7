"""The passes by which numba compiles a kernel: all of its own but those that look for what kernels do not have.

Those that are left out took some 8 % of the time until a first answer.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, WithLifting

#: For blocks of ``with``; for functions and comprehensions inside kernels; for formulas of whole arrays and arrays made
#: of lists. ``tests/machinecode/test_pipeline.py`` sees to it that kernels have none of these.
_UNNEEDED = (WithLifting, InlineClosureLikes, NopythonRewrites)

if not hasattr(DefaultPassBuilder, "define_nopython_pipeline") or not hasattr(PassManager("some"), "passes"):  # type: ignore[no-untyped-call]
    raise ImportError("this numba has other passes")


class KernelPipeline(CompilerBase):  # type: ignore[misc]
    """Compiles kernels, which are loops over numbers."""

    def define_pipelines(self) -> list[Any]:
        """The passes, as numba asks for them."""
        new: Any = PassManager
        default: Any = DefaultPassBuilder.define_nopython_pipeline
        passes = new("kernel")
        for kind, description in default(self.state).passes:
            if kind not in _UNNEEDED:
                passes.add_pass(kind, description)
        passes.finalize()
        return [passes]
