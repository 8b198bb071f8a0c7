"""Weights, words and a line of JSON in one safetensors file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from plre import tensorfile as file
from plre.errors import ModelFileError

#: Raised when files of before can no longer be read.
FORMAT = 1


def write(path: str | os.PathLike[str], kind: str, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a file, replacing an old one only when the new one is complete."""
    text = json.dumps({"kind": kind, "format": FORMAT, **about}, ensure_ascii=False)
    blob = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"plre": text})
    file.write(os.fspath(path), b"", [np.frombuffer(blob, np.uint8)])


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a file that :func:`write` wrote; refuses anything else."""
    name = os.fspath(path)
    raw, tensors = file.read(name)
    try:
        about = dict(json.loads(raw["plre"]))
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{name}: its header is damaged ({error}); copy or train the model again") from None
    if about.get("kind") != kind:
        hint = "; it is an n-gram model, open it with plre.load" if "order" in about else ""
        raise ModelFileError(f"{name}: is not a {kind}{hint}")
    if about.get("format") != FORMAT:
        raise ModelFileError(f"{name}: has format {about.get('format')}, this plre reads {FORMAT}; train it again")
    return about, {key: torch.from_numpy(array) for key, array in tensors.items()}
