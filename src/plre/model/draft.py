"""A model while it is being made: in memory, or in a file if it is too large for that."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plre._jit import parallel
from plre.model import _bytes, _finding, file, layout
from plre.model.layout import LINE, SEGMENT, Code, Layout
from plre.model.lm import digest
from plre.model.ngrams import NgramModel
from plre.scratch import Column, Scratch, slices

_PIECE = 1 << 22
#: An index is filled in about so many parts; for each all hashes are looked at.
_SEGMENT_GROUPS = 8
#: Factors smaller than the largest by this much count as nothing when they are quantised.
_FACTOR_RANGE = 2.0**-32


class Draft:
    """Room for all tensors of a model. Threads may put different things at the same time."""

    def __init__(self, layout: Layout, scratch: Scratch) -> None:
        self.layout = layout
        shapes = layout.shapes()
        self._places = dict(zip(shapes, np.cumsum([0, *(d.itemsize * n for d, n in shapes.values())]), strict=False))
        self._size = file.data_size(shapes)
        whole = np.zeros(self._size, np.uint8)  # takes no memory until it is written to
        self._data = whole if scratch.hold(whole) else None
        self._file = None if self._data is not None else scratch.file()
        if self._file is not None:
            self._file.write(np.zeros(1, np.uint8), self._size - 1)

    def put(self, name: str, values: NDArray[Any], at: int = 0) -> None:
        """Put a tensor's values, from byte ``at`` of it on."""
        place = int(self._places[name]) + at
        if self._file is not None:
            self._file.write(values, place)
        elif self._data is not None:
            self._data[place : place + values.nbytes] = np.ascontiguousarray(values).view(np.uint8)

    def code_probabilities(self, n: int, prob: Column) -> Code:
        """Choose how the probabilities of order n are coded."""
        if self.layout.size == 4:
            return Code()
        parts = [prob[part] for part in slices(len(prob), _PIECE)]
        low = min((float(part[part > 0].min(initial=1.0)) for part in parts), default=1.0)
        high = max((float(part.max(initial=0.0)) for part in parts), default=1.0)
        codes = list(self.layout.prob_codes)
        codes[n - 1] = Code.between(low, high, self.layout.size)
        self.layout = replace(self.layout, prob_codes=tuple(codes))
        return codes[n - 1]

    def put_records(self, n: int, first: int, **columns: NDArray[Any]) -> None:
        """Pack records of order n from ``first`` on; columns that an order does not have are left out."""
        places, stride = self.layout.places(n)
        used = {name: columns[name] for name in places}
        out = np.zeros(max(map(len, used.values())) * stride, np.uint8)
        for name, values in used.items():
            _bytes.pack_field(values, out, stride, *places[name])
        self.put(f"order{n}.grams", out, first * stride)

    def put_index(self, n: int, hashes: Column, threads: int) -> None:
        """Make the index of order n from the hashes of its n-grams: segments by themselves, so that threads may."""
        lines = self.layout.lines(n)
        bits = max(1, self.layout.sizes[n - 1].bit_length())
        step = -(-lines // _SEGMENT_GROUPS // SEGMENT) * SEGMENT if lines > SEGMENT else lines

        def run(part: slice) -> None:
            out = np.zeros((part.stop - part.start) * LINE, np.int32)
            for piece in slices(len(hashes), _PIECE):
                _finding.fill_index(part.start, part.stop, hashes[piece], piece.start, out, lines, bits)
            self.put(f"order{n}.index", out, 4 * LINE * part.start)

        parallel(run, slices(lines, step), threads)

    def put_factors(
        self,
        n: int,
        rank: NDArray[np.int32],
        left: NDArray[np.float32],
        left_start: NDArray[np.int64],
        right: NDArray[np.float32],
        right_start: NDArray[np.int64],
    ) -> None:
        """Put the low rank layers of order n."""
        size = self.layout.size
        self.put(f"order{n}.rank", rank)
        self.put(f"order{n}.left_start", left_start.astype(np.int32))
        self.put(f"order{n}.right_start", right_start.astype(np.int32))
        codes = []
        for name, factors in (("left", left), ("right", right)):
            largest = float(factors.max(initial=2.0**-60))
            codes.append(Code.between(largest * _FACTOR_RANGE, largest, size))
            dtype = self.layout.shapes()[f"order{n}.{name}"][0]
            for part in slices(len(factors), _PIECE):
                coded = codes[-1].encode(factors[part], size)
                self.put(f"order{n}.{name}", coded.astype(dtype) if size < 4 else coded, part.start * dtype.itemsize)
        own = replace(self.layout.low_rank[n], left_code=codes[0], right_code=codes[1])
        self.layout = replace(self.layout, low_rank={**self.layout.low_rank, n: own})

    def finish(self, metadata: dict[str, Any]) -> NgramModel:
        """The model. Its data is not copied."""
        self.put("directory", self.layout.directory())
        data, checksum = self._data, ""
        if self._file is not None:
            hasher = hashlib.blake2b(digest_size=8)
            for part in slices(self._size, _PIECE):
                hasher.update(self._file.read(np.dtype(np.uint8), part.start, part.stop - part.start).data)
            checksum = hasher.hexdigest()
            data = np.frombuffer(file.map_privately(self._file.file.fileno()), np.uint8)
        assert data is not None
        about = {"format": layout.FORMAT, **metadata, "digest": checksum or digest(data)}
        return NgramModel(about, file.views(self.layout.shapes(), data), data, backing=self._file)
