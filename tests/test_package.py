"""The shape of the house: what is public, who may import whom, and how light it is to open the door."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import plre
import plre._jit
import plre.cli.ask
import plre.cli.console
import plre.cli.main
import plre.clustering.cluster
import plre.comparison.methods
import plre.demo
import plre.ensemble.ladder
import plre.ensemble.recipe
import plre.lowrank.blocks
import plre.machinecode.baseline
import plre.machinecode.sources
import plre.reporting.chart
import plre.reporting.latex
import plre.reporting.markdown
import plre.reporting.numbers
import plre.reporting.table
import plre.scratch
import plre.smoothing.discounts
import plre.smoothing.jelinek_mercer
import plre.text.vocabulary
import plre.tuning.settings
import plre.tuning.space
import plre.tuning.tune

ROOT = Path(plre.__file__).parent

#: docs/architecture.md: a part may import those before it, never those after it.
PARTS = [
    ("errors", "_version", "progress"),
    ("files", "threads"),
    ("machinecode",),
    ("_jit", "_memory", "_simd", "memory_limit"),
    ("reporting",),
    ("scratch",),
    ("store",),
    ("text",),
    ("counts",),
    ("clustering",),
    ("smoothing",),
    ("lowrank",),
    ("tensorfile",),
    ("tables",),
    ("model",),
    ("interop",),
    ("kenlm",),
    ("pruning", "ensemble"),
    ("exporting",),
    ("training",),
    ("integrations",),
    ("evaluation",),
    ("tuning",),
    ("comparison",),
    ("neural",),
    ("demo", "warmup"),
    ("cli",),
    ("__main__",),
]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("plre.")}


def test_data_flows_one_way() -> None:
    place = {name: i for i, names in enumerate(PARTS) for name in names}
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for other in imports(path):
            assert place[other] <= place[part], f"{path.relative_to(ROOT)} imports plre.{other}"


def definitions(kind: type[ast.ClassDef | ast.FunctionDef], pattern: str) -> dict[str, list[str]]:
    """The public classes or functions at the top of files, and the files that define each."""
    found: dict[str, list[str]] = {}
    for path in ROOT.rglob(pattern):
        if path.name == "kenlm.py":  # whose names are those of KenLM's module
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize(("kind", "pattern"), [(ast.ClassDef, "*.py"), (ast.FunctionDef, "_*.py")])
def test_two_things_never_have_one_name(kind: type[ast.ClassDef | ast.FunctionDef], pattern: str) -> None:
    """Classes everywhere, and kernels."""
    twice = {name: files for name, files in definitions(kind, pattern).items() if len(files) > 1}
    assert not twice


def test_public_names_are_complete_and_exist() -> None:
    for name in plre.__all__:
        assert getattr(plre, name) is not None
    assert set(dir(plre)) == set(plre.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        plre.nothing  # noqa: B018


def test_import_and_help_do_not_load_numpy() -> None:
    for code in ("import plre", "from plre.cli.main import run; run(['train', '--help'])"):
        script = (
            f"import sys; {code}; sys.exit('numpy' in sys.modules or 'numba' in sys.modules or 'rich' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(
    "module",
    [
        plre.machinecode.baseline,
        plre.machinecode.sources,
        plre.text.vocabulary,
        plre.clustering.cluster,
        plre.smoothing.discounts,
        plre.smoothing.jelinek_mercer,
        plre.lowrank.blocks,
        plre.ensemble.ladder,
        plre.ensemble.recipe,
        plre.reporting.chart,
        plre.reporting.latex,
        plre.reporting.markdown,
        plre.reporting.numbers,
        plre.reporting.table,
        plre.scratch,
        plre.comparison.methods,
        plre.tuning.settings,
        plre.tuning.space,
        plre.tuning.tune,
        plre.demo,
        plre.cli.ask,
        plre.cli.console,
        plre.cli.main,
    ],
)
def test_examples_in_docstrings(module: object) -> None:
    import doctest

    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
