"""A model in words: what ``plre info`` prints."""

from __future__ import annotations

from plre.evaluation.report import signature
from plre.model.lm import LanguageModel
from plre.model.mixture import Mixture, Part, parts_of
from plre.model.ngrams import NgramModel
from plre.model.tree import TreeModel
from plre.text.vocabulary import SPECIAL


def describe_model(lm: LanguageModel) -> str:
    """How the model was made, what is in it and what takes the room."""
    about = lm.info()
    vocabulary = f"{about['vocabulary']:,} words"
    if "min_count" in about:
        vocabulary += f" ({_rule(about['min_count'])}; <unk>, <s> and </s> included)"
    lines = [
        f"{lm.path or 'a model in memory'}",
        f"  method      {about['method']}" + (f", preset {about['preset']}" if about.get("preset") else ""),
        f"  order       {lm.order}",
        f"  vocabulary  {vocabulary}",
    ]
    if "tokens" in about:
        sentences = f"{about['sentences']:,} sentences" if lm.markers else "one stream without sentence markers"
        lines.append(f"  trained on  {about['tokens']:,} tokens, {sentences}")
    if about.get("bits", 32) < 32:
        lines.append(f"  quantised   {about['bits']} bits a probability")
    if "pruned" in about:
        lines.append(f"  pruned      threshold {about['pruned']['threshold']:.3g}")
    for number, part in enumerate(parts_of(lm), 1):
        if isinstance(lm, Mixture):
            lines.append(_describe_part(number, part))
        lines += _describe_tables(part.model) if isinstance(part.model, NgramModel) else _describe_tree(part.model)
    sizes = about["bytes"]
    shown = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
    lines.append(f"  size        {sum(sizes.values()) / 1e6:.1f} MB: {shown}")
    if "dev_perplexity" in about:
        lines.append(f"  weights     found on dev text, of which the perplexity is {about['dev_perplexity']:.3f}")
    for trial in about.get("trials", []):
        ranks = ", ".join(f"order {n} {fraction:g}" for n, fraction in trial["fractions"].items())
        lines.append(f"  tried       {ranks}: dev perplexity {trial['perplexity']:.3f}")
    lines.append(f"  signature   {signature(lm)}")
    return "\n".join(lines)


def _rule(min_count: int | None) -> str:
    return f"seen {min_count} times or more" if min_count else "from a list"


def _describe_part(number: int, part: Part) -> str:
    """Its weight and what its n-grams are made of."""
    about = part.model.metadata
    kind = f"n-grams of {part.classes:,} classes" if part.classes else "n-grams of words"
    if isinstance(part.model, TreeModel):
        kind = "contexts of words and classes"
    if part.gates is not None:
        kind += f", which lead the next {part.members}"
    return f"  part {number:<6} {about['method']}, order {part.model.order}, weight {part.weight:.3f}, {kind}"


def _describe_tree(model: TreeModel) -> list[str]:
    """A line for each level."""
    lines = ["  contexts       number  words in them"]
    known = set()
    for (symbols, distance), nodes, events in zip(
        model.metadata["slots"], model.info()["nodes"], model.info()["events"], strict=True
    ):
        known.add(f"{'word' if symbols == model.layout.words else f'one of {symbols - len(SPECIAL):,} classes'}"
                  f" {distance} back")  # fmt: skip
        lines.append(f"  {nodes:>19,}  {events:>13,}  {', '.join(sorted(known))}")
    return lines


def _describe_tables(lm: NgramModel) -> list[str]:
    """A line for each order."""
    about = lm.info()
    sizes = about["bytes"]
    lines = ["  order      n-grams  bytes each  discounts            low rank layers (power, rank)"]
    for n, (grams, discount) in enumerate(zip(about["ngrams"], about["discounts"], strict=True), 1):
        shown = " ".join(f"{d:.3f}" for d in discount) if isinstance(discount, list) else discount
        rungs = "; ".join(f"{power:g}, {rank}" for power, rank in about["rungs"].get(str(n), []))
        highest = f" (highest {int(lm.tensors[f'order{n}.rank'].max())})" if rungs else ""
        each = sum(size for name, size in sizes.items() if name.split(".")[0] == f"order{n}") / max(grams, 1)
        lines.append(f"  {n:>5} {grams:>12,} {each:>11.1f}  {shown:<19}  {rungs or '-'}{highest}")
    return lines
