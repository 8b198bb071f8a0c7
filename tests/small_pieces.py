"""Cutting texts into so small pieces and buckets that short ones have many of them."""

from __future__ import annotations

import pytest

from plre.counts import local, sorting, tree


def cut_small(patch: pytest.MonkeyPatch, piece_bits: int, bucket: int, together: int) -> None:
    """Pieces of so many bits; buckets of about so many windows, of which so many are counted together."""
    patch.setattr(sorting, "_PIECE_BITS", piece_bits)
    patch.setattr(sorting, "_PIECE", 1 << piece_bits)
    patch.setattr(sorting, "_BUCKET", bucket)
    patch.setattr(sorting, "_BATCH", 2)
    patch.setattr(sorting, "_TOGETHER", together)
    if bucket < 10:
        patch.setattr(sorting, "_AT_EACH", 5)
        patch.setattr(sorting, "_SAMPLED", 1)
    patch.setattr(local, "_PIECE", (1 << piece_bits) - 3)
    patch.setattr(tree, "_PIECE", (1 << piece_bits) - 1)
