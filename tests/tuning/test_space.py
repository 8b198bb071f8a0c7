from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plre.ensemble.recipe import make_recipe
from plre.tuning.settings import Settings, quick_version
from plre.tuning.space import KINDS, Limits, neighbourhood

WALKS = st.lists(st.integers(0, 1000), max_size=12)


def walk(choices: list[int], limits: Limits) -> Settings:
    """Settings that are some changes away from a preset."""
    settings = Settings.of_preset("best", limits.order, limits.words)
    for choice in choices:
        found = neighbourhood(settings, limits)
        settings = found[choice % len(found)].settings
    return settings


@given(WALKS, st.integers(1, 5), st.sampled_from([30, 1000, 50000]))
def test_whatever_is_proposed_can_be_made_and_written(choices: list[int], order: int, words: int) -> None:
    limits = Limits(order, words)
    settings = walk(choices, limits)
    recipe = settings.recipe(order, 0)
    assert recipe.leads
    assert recipe.members.sizes(words) == settings.classes
    assert 2 not in recipe.rungs or 2 in settings.ladders
    assert Settings.read(json.loads(json.dumps(settings.describe()))) == settings
    proposals = neighbourhood(settings, limits)
    assert settings not in [proposal.settings for proposal in proposals]
    assert len({proposal.settings for proposal in proposals}) == len(proposals)
    assert {proposal.kind for proposal in proposals} <= {kind.name for kind in KINDS}


@pytest.mark.parametrize("preset", ["best", "fast"])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_presets_are_settings(preset: str, order: int) -> None:
    ours, theirs = (
        Settings.of_preset(preset, order, 10**6).recipe(order, 3),
        make_recipe(order, "plre", preset, None, 3),
    )
    for name in ("discount", "lowest", "starts", "seed"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.members.classes == theirs.members.classes
    assert ours.members.class_order(order) == theirs.members.class_order(order)
    powers = [
        {n: [rung.power for rung in rungs] for n, rungs in each.rungs.items() if rungs} for each in (ours, theirs)
    ]
    assert powers[0] == powers[1]


def test_every_kind_of_change_is_proposed() -> None:
    limits = Limits(3, 30000)
    settings = replace(Settings.of_preset("best", 3, 30000), rungs=("2:0.5:20", "*:0.5:cbrt/2"))
    found = {proposal.kind for proposal in neighbourhood(settings, limits)}
    assert found == {kind.name for kind in KINDS}


def test_a_quick_version_is_quicker_in_everything() -> None:
    recipe = Settings.of_preset("best", 3, 30000).recipe(3, 0)
    short = quick_version(recipe)
    assert short.members.sweeps < recipe.members.sweeps
    assert short.members.order < recipe.members.order
    assert short.bigram_stopping.steps < recipe.bigram_stopping.steps
    assert short.slice_stopping.steps < recipe.slice_stopping.steps
    assert short.members.classes == recipe.members.classes
    assert short.rungs == recipe.rungs
