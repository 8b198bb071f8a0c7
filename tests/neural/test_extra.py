from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_plre_alone_does_not_load_torch() -> None:
    assert run("import sys, plre; print('torch' in sys.modules)") == "False\n"


def test_without_torch_the_error_says_what_to_install() -> None:
    code = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
import plre
try:
    import plre.neural
except plre.PlreError as error:
    print(error)
"""
    assert "pip install 'plre[neural]'" in run(code)
