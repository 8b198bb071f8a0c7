"""A model as a file and back: which tensors it has, what its metadata says, and its checksum.

vocab.bytes, vocab.starts, vocab.slots    the words
{k}.symbols, {k}.shares                   of component k, from 1 up: the symbol of each word and its share of that; none
                                          where words are symbols, or have all of them
{k}.gates                                 of a component that leads others: their weights by context (``gates.py``)
{k}.unigrams, ...                         the tensors of the component's body (``ngrams.py``, ``contexts.py``)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plre import tensorfile as file
from plre.errors import ModelFileError
from plre.model._plan import GATE_BUCKETS
from plre.model.component import KINDS, Body, Component
from plre.model.gates import Gates
from plre.tensorfile import Tensors
from plre.text.vocabulary import SPECIAL, Vocabulary
from plre.threads import cpu_count, parallel

if TYPE_CHECKING:
    from plre.model.lm import LanguageModel

FORMAT = 6
#: More components than anybody needs; a file that claims to have more is damaged.
_MOST_COMPONENTS = 1000


def tensors_of(lm: LanguageModel) -> Tensors:
    """All tensors of a model, in the order of a file."""
    vocab = lm.vocab
    found: Tensors = {"vocab.bytes": vocab.arena, "vocab.starts": vocab.starts, "vocab.slots": vocab.slots}
    for k, component in enumerate(lm.components, 1):
        found |= {f"{k}.{name}": tensor for name, tensor in _own_tensors(component).items()}
    return file.in_order(found)


def _own_tensors(component: Component) -> Tensors:
    own: Tensors = dict(component.body.tensors)
    if component.symbols is not None:
        own["symbols"] = component.symbols
    if component.shares is not None:
        own["shares"] = component.shares
    if component.gates is not None:
        own["gates"] = component.gates.table.reshape(-1)
    return own


def size_of(lm: LanguageModel) -> int:
    """Bytes of all tensors of a model."""
    return sum(tensor.nbytes for tensor in tensors_of(lm).values())


def _header(lm: LanguageModel, tensors: Tensors, digest: str) -> tuple[dict[str, Any], bytes]:
    """The metadata of a model with this checksum, and the beginning of its file."""
    about = {name: value for name, value in lm.metadata.items() if name not in ("format", "components", "digest")}
    components = [_describe(component) for component in lm.components]
    metadata = {"format": FORMAT, **about, "components": components, "digest": digest}
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    return metadata, file.header({"plre": text}, file.shapes(tensors))


def header_size(lm: LanguageModel) -> int:
    """Bytes of a model's file before its tensors."""
    return len(_header(lm, tensors_of(lm), "0" * 16)[1])


def _describe(component: Component) -> dict[str, Any]:
    """What metadata says of a component."""
    own: dict[str, Any] = {**component.about, "body": component.body.describe(), "weight": component.weight}
    if component.gates is not None:
        own |= {"members": component.members, "root": component.gates.root}
    return own


def checksum(lm: LanguageModel) -> str:
    """A checksum of everything in a model's file but itself: of the checksums of its pieces."""
    tensors = tensors_of(lm)
    whole = hashlib.blake2b(_header(lm, tensors, "")[1], digest_size=8)
    pieces = [chunk for tensor in tensors.values() for chunk in file.chunks(tensor)]
    for own in parallel(_digest, pieces, cpu_count()):
        whole.update(own)
    return whole.hexdigest()


def _digest(chunk: NDArray[np.uint8]) -> bytes:
    found = hashlib.blake2b(chunk).digest()
    file.release(chunk)
    return found


def old_checksum(lm: LanguageModel) -> str:
    """The checksum that files have which were written before pieces had checksums of their own."""
    tensors = tensors_of(lm)
    whole = hashlib.blake2b(_header(lm, tensors, "")[1], digest_size=8)
    for chunk in (chunk for tensor in tensors.values() for chunk in file.chunks(tensor)):
        whole.update(chunk)
        file.release(chunk)
    return whole.hexdigest()


def save(lm: LanguageModel, path: str) -> dict[str, Any]:
    """Write a model to a file; gives its metadata."""
    tensors = tensors_of(lm)
    metadata, head = _header(lm, tensors, lm.digest)
    file.write(path, head, tensors.values())
    return metadata


@dataclass(frozen=True)
class StoredModel:
    """What a file holds."""

    vocab: Vocabulary
    components: tuple[Component, ...]
    metadata: Mapping[str, Any]


def load(path: str) -> StoredModel:
    """Map a file into memory. Its metadata is checked here; that sizes fit together is seen when a plan is made."""
    raw, tensors = file.read(path)
    try:
        metadata = json.loads(raw["plre"])
        if not isinstance(metadata, dict):
            raise ValueError("its metadata is no object")
        other = metadata.get("kind")
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: its header is damaged ({error}); copy or train the model again") from None
    if other is not None:
        raise ModelFileError(f"{path}: is a {other}; open it with plre.neural.load")
    version = metadata.get("format")
    if isinstance(version, int) and version != FORMAT:
        raise ModelFileError(
            f"{path}: has format {version}, this plre reads format {FORMAT}; "
            + ("train it again" if version < FORMAT else "install a newer plre")
        )
    try:
        for key, kind in {"format": int, "order": int, "markers": bool, "method": str, "digest": str}.items():
            if type(metadata[key]) is not kind:
                raise ValueError(f"{key} is {metadata[key]!r}")
        if any(tensor.ndim != 1 for tensor in tensors.values()):
            raise ValueError("a tensor is not flat")
        described = metadata["components"]
        if not isinstance(described, list) or not 1 <= len(described) <= _MOST_COMPONENTS:
            raise ValueError("it has no components")
        names = ("vocab.bytes", "vocab.starts", "vocab.slots")
        vocab = _vocabulary(*(tensors[name] for name in names))
        by_number: dict[str, Tensors] = {str(k): {} for k in range(1, len(described) + 1)}
        for name, tensor in tensors.items():
            number, _, rest = name.partition(".")
            if number in by_number:
                by_number[number][rest] = tensor
            elif name not in names:
                raise ValueError(f"it has a tensor {name} that such a model does not have")
        components = [_component(*each) for each in zip(described, by_number.values(), strict=True)]
        if list(tensors) != list(file.in_order(tensors)):
            raise ValueError("its tensors are in the wrong order")
        _check_leaders(components, metadata["order"])
    except KeyError as error:
        raise ModelFileError(f"{path}: is damaged ({error} is missing); copy or train the model again") from None
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ModelFileError(f"{path}: is damaged ({error}); copy or train the model again") from None
    return StoredModel(vocab, tuple(components), metadata)


def _vocabulary(letters: NDArray[Any], starts: NDArray[Any], slots: NDArray[Any]) -> Vocabulary:
    if letters.dtype != np.uint8 or starts.dtype != np.int32 or slots.dtype != np.int32:
        raise ValueError("the vocabulary has the wrong type")
    words, pairs = len(starts) - 1, len(slots) // 2
    if words < len(SPECIAL) or len(slots) % 2 or pairs & (pairs - 1) or pairs <= words:
        raise ValueError("the vocabulary has the wrong size")
    if starts[0] != 0 or starts[-1] != len(letters):
        raise ValueError("the tensor vocab.starts does not cover what it points to")
    return Vocabulary(letters, starts, slots)


def _component(about: Mapping[str, Any], tensors: Tensors) -> Component:
    """A component from its part of the metadata and its tensors."""
    described, weight = about["body"], about["weight"]
    if not isinstance(weight, float | int) or not 0 <= weight <= 1:
        raise ValueError(f"a weight is {weight!r}")
    symbols, shares, flat = (tensors.pop(name, None) for name in ("symbols", "shares", "gates"))
    body: Body = KINDS[described["kind"]].from_tensors(described, tensors)
    gates = None
    if flat is not None:
        members, root = about["members"], about["root"]
        if type(members) is not int or members < 1 or not 0 <= root <= 1:
            raise ValueError("the gates make no sense")
        if flat.dtype != np.float32 or len(flat) != body.reach * GATE_BUCKETS * (1 + members) or not body.missing:
            raise ValueError("the gates have the wrong size")
        gates = Gates(flat.reshape(-1, 1 + members), float(root))
    rest = {name: value for name, value in about.items() if name not in ("body", "weight", "members", "root")}
    return Component(body, float(weight), symbols, shares, gates, rest)


def _check_leaders(components: list[Component], order: int) -> None:
    """Refuse leaders of what is not there, weights that are no shares, and an order that is not the model's."""
    alone = [components[k] for k in unled(components)]
    if abs(sum(component.weight for component in alone) - 1) > 1e-6:
        raise ValueError("the weights do not sum to one")
    if order != order_of(components):
        raise ValueError(f"the order is {order}")


def unled(components: list[Component] | tuple[Component, ...]) -> list[int]:
    """The numbers of the components that no other leads."""
    found, k = [], 0
    while k < len(components):
        found.append(k)
        led = components[k].members
        if k + led >= len(components) or any(
            each.gates or each.body.missing for each in components[k + 1 : k + 1 + led]
        ):
            raise ValueError("a component leads others that are not there")
        k += 1 + led
    return found


def order_of(components: list[Component] | tuple[Component, ...]) -> int:
    """The order of a model: the longest n-gram of a component that no other leads."""
    return max(components[k].body.reach for k in unled(components))


def describe(lm: LanguageModel) -> dict[str, Any]:
    """What a model is, how it was made, and how many bytes each part takes."""
    bodies = [component.body for component in lm.components]
    orders = [grams.sizes for body in bodies if (grams := body.ngrams()) is not None]
    longest = max(map(len, orders), default=0)
    several = len(bodies) > 1
    sizes: dict[str, int] = {}
    for name, tensor in tensors_of(lm).items():
        section = _section(name, several)
        sizes[section] = sizes.get(section, 0) + tensor.nbytes
    return {
        **{name: value for name, value in lm.metadata.items() if name != "components"},
        "path": lm.path,
        "vocabulary": len(lm.vocab),
        "ngrams": [sum(each[n] for each in orders if n < len(each)) for n in range(longest)],
        "components": [
            {**component.about, **component.body.info(), "weight": component.weight} for component in lm.components
        ],
        "bytes": {section: sizes[section] for section in sorted(sizes)},
    }


def _section(name: str, several: bool) -> str:
    """Of what part of a model a tensor is: its vocabulary, a component, or a table of its only one."""
    first, _, rest = name.partition(".")
    if first == "vocab":
        return first
    return f"component {first}" if several else rest.partition(".")[0]
