from __future__ import annotations

from pathlib import Path

import pytest

from plre.counts.ingredients import CountedText
from plre.errors import UsageError
from plre.text.ingredients import ReadText
from plre.tuning.cost_model import gain_of, seconds_for
from plre.tuning.journal import Journal, Trial, best_of
from plre.tuning.settings import Settings
from plre.tuning.space import Proposal

SETTINGS = Settings.of_preset("best", 3, 1000)


def trial(number: int, perplexity: float | None, kind: str = "starts", change: str = "x") -> Trial:
    outcome = "dropped" if perplexity is None else "done"
    made = (("fitting", 5.0, 0.5),)
    return Trial(number, kind, change, SETTINGS, outcome, 2.0, perplexity, 100, (3.0, 2.0), "why", made)


def test_trials_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, {"text": "a"})
    journal.open()
    journal.add(trial(1, 10.0))
    journal.add(trial(2, None))
    again = Journal(path, {"text": "a"})
    assert again.trials == journal.trials
    assert again.before == 2
    assert again.seconds == 4.0
    assert again.best == trial(1, 10.0)


def test_other_texts_have_other_trials(tmp_path: Path) -> None:
    path = tmp_path / "j"
    for text, perplexity in (("a", 10.0), ("b", 20.0), ("a", 30.0)):
        journal = Journal(path, {"text": text})
        journal.open()
        journal.add(trial(len(journal.trials) + 1, perplexity))
    assert [each.perplexity for each in Journal(path, {"text": "a"}).trials] == [10.0, 30.0]
    assert [each.perplexity for each in Journal(path, {"text": "b"}).trials] == [20.0]
    assert Journal(path, {"text": "c"}).trials == []


def test_a_line_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, {})
    journal.open()
    journal.add(trial(1, 10.0))
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[-1][:30])
    again = Journal(path, {})
    again.open()
    again.add(trial(2, 9.0))
    assert [each.number for each in Journal(path, {}).trials] == [1, 2]
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("content", [b"not a journal\n", b'{"key": 1}\n[]\n', b"\xff\xfe\n"])
def test_another_file_is_not_mistaken_for_a_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="move"):
        Journal(path, {})
    assert path.read_bytes() == content


def test_the_best_of_nothing() -> None:
    assert best_of([trial(1, None)]) is None


def test_seconds_go_by_the_middle_of_the_newest_measurements() -> None:
    text = ReadText([])
    counting = CountedText(text, 3)
    made = [("counting", 10.0, 1e6)]  # compiled: says nothing
    assert seconds_for([(counting, 100.0)], made) == seconds_for([(counting, 100.0)], []) == 100 * counting.pace
    made += [("counting", 10.0, each) for each in (1.0, 9.0, 2.0)]
    assert seconds_for([(counting, 100.0)], made) == pytest.approx(20.0)
    assert seconds_for([(text, 100.0)], made) == 0
    assert seconds_for([], made) == 0


def test_what_gained_promises_to_gain_again() -> None:
    starts, other = Proposal("starts", "x", SETTINGS), Proposal("starts", "y", SETTINGS)
    nothing = gain_of(starts, [])
    good = [trial(1, 100.0, "preset"), trial(2, 90.0)]
    bad = [trial(1, 100.0, "preset"), trial(2, 110.0)]
    assert gain_of(starts, good) > gain_of(other, good) > nothing
    assert gain_of(starts, bad) < gain_of(other, bad) < nothing
    dropped = [trial(1, 100.0, "preset"), trial(2, None)]
    assert gain_of(starts, dropped) == gain_of(starts, bad)


def test_a_journal_that_says_rehearsed_is_still_read() -> None:
    """The early look at a trial used to have that name."""
    written = trial(1, 10.0).describe()
    written["rehearsed"] = written.pop("early")
    assert Trial.read(written) == trial(1, 10.0)
    without = trial(1, 10.0).describe() | {"early": None}
    assert Trial.read(without).early is None
