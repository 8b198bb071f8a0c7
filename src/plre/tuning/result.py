"""The result of a search: its trials and the best model, as a table, as JSON, as Markdown, as a page with charts."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from plre.files import write_whole
from plre.model.lm import LanguageModel
from plre.reporting import numbers
from plre.reporting.markdown import markdown_table
from plre.reporting.table import Cell, ReportTable, plain_table
from plre.reporting.webpage import html_charts, html_header, html_section, whole_page
from plre.tuning.journal import Trial, best_of
from plre.tuning.pictures import trial_charts

TITLE = "Recipes tried"
#: What a reader of a dev perplexity must know.
OPTIMISTIC = (
    "Recipes were chosen on the dev text, and weights fitted to it: its perplexity is a little too good. "
    "Measure on a text that was not used here."
)


@dataclass(frozen=True)
class TuneResult:
    """The trials of a search and the model of the best one."""

    trials: tuple[Trial, ...]
    model: LanguageModel
    order: int
    seed: int
    #: What the vocabulary was made by: options of ``plre train``.
    text_options: tuple[str, ...] = ()
    #: Why the search ended.
    ended: str = ""
    interrupted: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Trial:
        """The trial with the lowest perplexity, of which the model is."""
        found = best_of(self.trials)
        assert found is not None
        return found

    @property
    def perplexity(self) -> float:
        """The perplexity of the dev text under the model."""
        return self.best.perplexity or 0.0

    @property
    def command(self) -> str:
        """The command that trains the same model again."""
        options = [*self.text_options, "--order", str(self.order), "--seed", str(self.seed)]
        chosen = shlex.join([*options, *self.best.settings.arguments(self.order)])
        return f"plre train TEXT... --dev TEXT -o MODEL {chosen}"

    def table(self, steps: bool = False) -> ReportTable:
        """Every trial in the order in which they were made; what was the best when it was made is bold.

        With ``steps``, only those: what led to the best.
        """
        rows = []
        lowest: float | None = None
        for trial in self.trials:
            found = trial.perplexity
            gain = None if found is None or lowest is None else 1 - found / lowest
            better = found is not None and (lowest is None or found < lowest)
            lowest = found if better else lowest
            if steps and not better:
                continue
            outcome = "best" if trial == self.best else trial.outcome
            rows.append(
                [
                    Cell(str(trial.number)),
                    Cell(trial.change),
                    Cell(outcome),
                    Cell(numbers.perplexity(found), better),
                    Cell(numbers.fine_percent(gain)),
                    Cell(numbers.seconds(trial.seconds)),
                    Cell(numbers.size(trial.bytes)),
                ]
            )
        headings = ["trial", "change to the best before it", "outcome", "dev perplexity", "gain", "time", "size"]
        title = TITLE if not steps else f"{TITLE}: those of {len(self.trials)} that were better than all before them"
        reasons = "; ".join(f"trial {trial.number}: {trial.reason}" for trial in self.trials if trial.reason)
        return ReportTable(
            "trials", title, headings, rows, 3, [*([f"Dropped: {reasons}."] if reasons else []), OPTIMISTIC]
        )

    def as_text(self) -> str:
        """The table in plain letters."""
        return plain_table(self.table())

    __str__ = as_text

    def as_markdown(self) -> str:
        """The table, what was chosen and how to repeat it."""
        return "\n\n".join([markdown_table(self.table()), OPTIMISTIC, f"```\n{self.command}\n```"]) + "\n"

    def as_json(self) -> str:
        """All trials, the best settings and what the search was about, as JSON."""
        said = {
            "best": self.best.number,
            "perplexity": self.perplexity,
            "settings": self.best.settings.describe(),
            "command": self.command,
            "ended": self.ended,
            **self.facts,
            "trials": [trial.describe() for trial in self.trials],
        }
        return json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def page(self) -> str:
        """A web page without scripts, with nothing to load."""
        dropped = sum(trial.outcome != "done" for trial in self.trials)
        story = [
            f"Best on the dev text: perplexity {numbers.perplexity(self.perplexity)}, trial {self.best.number} of "
            f"{len(self.trials)} ({self.best.change}).",
            OPTIMISTIC,
        ]
        facts = {
            "trials": str(len(self.trials)),
            "dropped early": str(dropped),
            "time": numbers.seconds(sum(trial.seconds for trial in self.trials)),
            "size of the model": numbers.size(self.best.bytes),
            "order": str(self.order),
            "plre": str(self.facts.get("version", "")),
        }
        settings = "".join(
            f"<dt>{escape(name.replace('_', ' '))}</dt><dd><code>{escape(_shown(value))}</code></dd>"
            for name, value in self.best.settings.describe().items()
        )
        body = [
            html_header("A recipe chosen on held-out text", story, facts),
            f'<section id="best"><h2>What was chosen</h2><dl class="signatures">{settings}</dl></section>',
            html_charts(trial_charts(self.trials)),
            html_section(self.table()),
            f'<section id="repeat"><h2>Train it again</h2><pre><code>{escape(self.command)}</code></pre></section>',
        ]
        return whole_page("A recipe chosen on held-out text", body)

    def save_page(self, path: str | os.PathLike[str]) -> None:
        """Write the page; nobody sees half of it."""
        write_whole(Path(path), self.page())


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
