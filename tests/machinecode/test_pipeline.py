"""Kernels have nothing that the passes of numba's that are left out would be needed for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from plre import _jit
from plre.machinecode.sources import PACKAGE, kernel_sources

#: What is not allowed inside a kernel, and why.
UNWANTED = {
    ast.With: "a block of with",
    ast.FunctionDef: "a function inside",
    ast.Lambda: "a function inside",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.List: "a list: make an array and assign its items",
}


def kernels(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and any(
            "kernel" in ast.dump(d) or "direct" in ast.dump(d) for d in node.decorator_list
        ):
            yield node


def sliced(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def unwanted(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(ast.Module(function.body, [])):
        if type(node) in UNWANTED:
            yield UNWANTED[type(node)]
        if isinstance(node, ast.BinOp) and (sliced(node.left) or sliced(node.right)):
            yield "a formula of whole arrays"


def test_kernels_are_plain_loops() -> None:
    seen = 0
    for path in kernel_sources(PACKAGE):
        for function in kernels(path):
            seen += 1
            assert not list(unwanted(function)), f"{path.name}: {function.name}"
    assert seen > 150


@pytest.mark.parametrize("code", ["x = [1]", "x = a[1:] * 2", "x = sum(i for i in a)", "def g(): pass"])
def test_what_is_not_plain_is_found(code: str) -> None:
    (function,) = ast.parse(f"def f(a):\n    {code}").body
    assert list(unwanted(function))


def test_a_kernel_compiles_without_these_passes() -> None:
    def total(values):
        result = 0.0
        for value in values:
            result += value
        return result

    compiled = _jit.kernel(total)
    assert compiled(np.arange(5.0)) == 10
    passes = compiled._compiler.pipeline_class
    assert passes.__name__ == "KernelPipeline"
