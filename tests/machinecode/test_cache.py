"""Machine code on disk: a second process compiles nothing, whatever can or cannot be written to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plre
from plre.machinecode.places import Place, first_writable, forget_old, places
from tests.machinecode.running import KERNELS, run_example


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first, second = (run_example(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.compiled == KERNELS
    assert first.errors == f"plre: compiling for this machine (once; kept in {tmp_path / 'plre'})\n"
    assert (second.compiled, second.errors) == (0, "")
    assert (first.empty, second.empty) == (True, False)


def test_it_can_be_quiet(tmp_path: Path) -> None:
    assert run_example(NUMBA_CACHE_DIR=str(tmp_path), PLRE_QUIET="1").errors == ""


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    run_example(NUMBA_CACHE_DIR=str(tmp_path))
    for path in tmp_path.rglob("*both*.code"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert [run_example(NUMBA_CACHE_DIR=str(tmp_path)).compiled for _ in range(2)] == [1, 0]


def run_thrice(tmp_path: Path, program: str, caller: str) -> list[str]:
    """What a program says when all is compiled, when its callees were kept but not their caller, and when all was."""
    path = tmp_path / "program.py"
    path.write_text(program)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PLRE_QUIET": "1"}
    said = []
    for keep in (True, False, True):
        if not keep:
            for code in tmp_path.rglob(f"*{caller}*.code"):
                code.unlink()
        done = subprocess.run(
            [sys.executable, str(path)], env=variables, capture_output=True, text=True, check=True, timeout=120
        )
        said.append(done.stdout + done.stderr)
    return said


RAISING = """
from plre._jit import c_kernel, kernel
from plre._memory import call_address
from plre.machinecode.store import store

@kernel
def checked(number):
    if number > 3:
        raise ValueError("too large", number)
    return number
"""


def test_a_kernel_that_others_call_may_raise_with_values(tmp_path: Path) -> None:
    program = """
@kernel
def twice(number):
    return 2 * checked(number)

try:
    twice(5)
except ValueError as error:
    print(twice(2), error.args, [name.rsplit(".")[-1] for name in store.compiled])
"""
    said = run_thrice(tmp_path, RAISING + program, "twice")
    answer = "4 ('too large', 5) "
    assert said == [f"{answer}['checked', 'twice']\n", f"{answer}['twice']\n", f"{answer}[]\n"]


def test_what_is_raised_below_a_kernel_for_c_is_printed(tmp_path: Path) -> None:
    program = """
@c_kernel("int64(int64)")
def twice(number):
    return 2 * checked(number)

@kernel
def call(address, number):
    return call_address(address, number)

call(twice.address, 5)
print(call(twice.address, 2))
"""
    for said in run_thrice(tmp_path, RAISING + program, "twice"):
        assert said.startswith("4\n")
        assert "ValueError: ('too large', 5)" in said


def test_code_with_addresses_is_not_kept(tmp_path: Path) -> None:
    """A large array among the globals is known by its address, which is another one in the next process."""
    program = """
import numpy as np
from plre._jit import kernel

NUMBERS = np.arange(400_000.0)

@kernel
def number(at):
    return NUMBERS[at]

@kernel
def twice(at):
    return 2 * number(at)

print(twice(7))
"""
    assert run_thrice(tmp_path, program, "twice") == ["14.0\n"] * 3
    assert not list(tmp_path.rglob("*.code"))


def test_kernels_with_values_around_them_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    program = """
import sys
from plre._jit import kernel

def add(amount):
    @kernel
    def added(number):
        return number + amount
    return added

three, ten = add(3), add(10)

@kernel
def with_three(number):
    return three(number)

@kernel
def with_ten(number):
    return ten(number)

@kernel
def both(number):
    return three(number) * 1000 + ten(number)

print({"3": with_three, "10": with_ten, "both": both}[sys.argv[1]](0))
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PLRE_QUIET": "1"}
    for which, answer in (("3", "3"), ("10", "10"), ("both", "3010"), ("both", "3010")):
        done = subprocess.run(
            [sys.executable, str(path), which], env=variables, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{answer}\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package beside which nothing can be written: a file is where the folder would be."""
    root = Path(plre.__file__).parent
    shutil.copytree(root, tmp_path / "plre", ignore=shutil.ignore_patterns("__pycache__", "packed"))
    (tmp_path / "plre" / "__pycache__").mkdir()
    (tmp_path / "plre" / "__pycache__" / "kernels").touch()
    return tmp_path


def test_beside_the_package_or_at_home_or_in_a_temporary_folder(package: Path) -> None:
    nowhere = str(package / "plre" / "py.typed" / "folder")  # below a file: nobody can make it, not even root
    home, temporary = package / "home", package / "tmp"
    temporary.mkdir()
    there = {"HOME": str(home), "TMPDIR": str(temporary), "source": package}
    for place, environment in (
        (home / ".cache" / "plre" / "kernels", there),
        (home / "cache" / "plre" / "kernels", {**there, "XDG_CACHE_HOME": str(home / "cache")}),
        (temporary / f"plre-kernels-{os.getuid()}", {**there, "HOME": nowhere}),
    ):
        first, second = (run_example(**environment) for _ in range(2))
        assert (first.compiled, second.compiled) == (KERNELS, 0)
        assert f"kept in {place})" in first.errors
        assert place.stat().st_mode & 0o077 == 0
    (package / "plre" / "__pycache__" / "kernels").unlink()
    run_example(**{**there, "HOME": nowhere, "TMPDIR": str(package)})
    beside = package / "plre" / "__pycache__" / "kernels"
    assert len(list(beside.rglob("*.code"))) == KERNELS
    assert beside.stat().st_mode & 0o055 == 0o055 & ~umask()  # for all users of an image


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_can_be_written(package: Path) -> None:
    """Neither beside the package nor at home nor in a temporary folder; or not where it was told to."""
    nowhere = str(package / "plre" / "py.typed" / "folder")
    (package / "sitecustomize.py").write_text(f"import tempfile\ntempfile.tempdir = {nowhere!r}\n")
    for environment in ({"HOME": nowhere}, {"NUMBA_CACHE_DIR": nowhere}):
        run = run_example(source=package, **environment)
        assert run.compiled == KERNELS
        assert run.errors.startswith("plre: compiling for this machine (no folder to keep it in")


def test_a_folder_that_others_could_have_prepared_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = Place(tmp_path / "private", forbidden=0o077)
    assert not private.is_safe()
    assert private.is_writable()
    assert private.is_safe()
    private.folder.chmod(0o750)
    assert not private.is_safe()
    private.folder.chmod(0o700)
    (tmp_path / "link").symlink_to(private.folder)
    assert not Place(tmp_path / "link", forbidden=0o077).is_safe()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not private.is_safe()
    assert first_writable([private, Place(tmp_path / "chosen")]) == Place(tmp_path / "chosen")


def test_a_chosen_folder_replaces_all_others() -> None:
    assert places("/chosen") == [Place(Path("/chosen/plre"))]
    assert len(places()) == 3


def test_old_folders_are_forgotten(tmp_path: Path) -> None:
    for age in range(12):
        (tmp_path / str(age)).mkdir()
        (tmp_path / str(age) / "file").touch()
        os.utime(tmp_path / str(age), (1e9 - age, 1e9 - age))
    forget_old(tmp_path, "11")
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == [0, 1, 2, 3, 4, 5, 6, 11]
