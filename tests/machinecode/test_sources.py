"""What the key of machine code covers: all kernel sources, and nothing else."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

from plre.machinecode.sources import HOW, PACKAGE, is_kernel_source, kernel_sources, source_key

#: Whoever imports one of these makes machine code.
MAKERS = {
    "kernel",
    "fast_kernel",
    "inner_kernel",
    "direct",
    "c_kernel",
    "njit",
    "intrinsic",
    "overload",
}


def imported(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""


def test_kernels_stand_in_kernel_sources_and_use_only_such() -> None:
    for path in PACKAGE.rglob("*.py"):
        for module, name in imported(path):
            if name in MAKERS and module.startswith(("plre._jit", "numba")):
                assert is_kernel_source(path.name), f"{path} makes kernels: its name must begin with _"
            if (
                path.name.startswith("_")
                and path.stem not in ("_jit", "__init__", "__main__")
                and module.startswith("plre.")
                and module != "plre.errors"  # machine code knows an error by its name alone
            ):
                whole = f"{module}.{name}" if name else module
                is_module = PACKAGE.parent.joinpath(*whole.split(".")).with_suffix(".py").exists()
                file = f"{(whole if is_module else module).split('.')[-1]}.py"
                assert is_kernel_source(file), f"{path} uses {module}, which is not part of the key of machine code"


def test_key_changes_with_kernels_only(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "a", ignore=shutil.ignore_patterns("__pycache__"))
    before = source_key(tmp_path / "a")
    for path in (tmp_path / "a").rglob("*.py"):
        if not is_kernel_source(path.name) and path.name not in HOW:
            path.write_text("changed")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert source_key(tmp_path / "b") == before
    some = list(kernel_sources(tmp_path / "a"))
    assert {path.stem for path in some} >= {"_kernels", "_memory", "_jit"}
    some[0].write_text(some[0].read_text() + "# changed\n")
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    assert source_key(tmp_path / "c") != before
