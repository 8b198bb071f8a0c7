"""A model in words: what ``plre info`` prints."""

from __future__ import annotations

from plre.evaluation.report import reads_metadata, signature
from plre.model.component import Body, Component
from plre.model.lm import LanguageModel
from plre.model.ngrams import NgramBody
from plre.reporting import numbers
from plre.text.vocabulary import SPECIAL


@reads_metadata
def describe_model(lm: LanguageModel) -> str:
    """How the model was made, what is in it and what takes the room."""
    about = lm.info()
    vocabulary = f"{about['vocabulary']:,} words"
    if "min_count" in about:
        vocabulary += f" ({_rule(about['min_count'])}; <unk>, <s> and </s> included)"
    lines = [
        f"{lm.path or about.get('source', 'a model in memory')}",
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
    led = 0
    for number, component in enumerate(lm.components, 1):
        if len(lm.components) > 1 or component.symbols is not None:
            lines.append(_describe_component(number, component, led > 0))
        led = max(led - 1, component.members)
        lines += _describe_body(component)
    sizes = about["bytes"]
    shown = ", ".join(f"{name} {numbers.size(size)}" for name, size in sizes.items())
    lines.append(f"  size        {numbers.size(sum(sizes.values()))}: {shown}")
    if "dev_perplexity" in about:
        lines.append(f"  weights     found on dev text, of which the perplexity is {about['dev_perplexity']:.3f}")
    for trial in about.get("trials", []):
        ranks = ", ".join(f"order {n} {fraction:g}" for n, fraction in trial["fractions"].items())
        lines.append(f"  tried       {ranks}: dev perplexity {trial['perplexity']:.3f}")
    lines.append(f"  signature   {signature(lm)}")
    return "\n".join(lines)


def _rule(min_count: int | None) -> str:
    return f"seen {min_count} times or more" if min_count else "from a list"


def _describe_component(number: int, component: Component, led: bool) -> str:
    """Its weight, which depends on the context if it is led, and what it predicts from what."""
    about, reach = component.about, component.body.reach
    if component.body.ngrams() is None:
        kind = "contexts of words and classes"
    else:
        kind = f"n-grams of {about['classes']:,} classes" if "classes" in about else "n-grams of words"
    if component.gates is not None:
        kind += f", which lead the next {component.members}"
    weight = "by context" if led else f"{component.weight:.3f}"
    return f"  component {number:<2} {about['method']}, order {reach}, weight {weight}, {kind}"


def _describe_body(component: Component) -> list[str]:
    """A line for each order or level."""
    grams = component.body.ngrams()
    return _describe_levels(component.body) if grams is None else _describe_orders(grams, component)


def _describe_levels(body: Body) -> list[str]:
    """A line for each level of a chain of contexts."""
    lines = [f"  {'contexts':>19}  {'words in them':>13}  known"]
    known = set()
    about = body.info()
    for (symbols, distance), contexts, events in zip(about["slots"], about["contexts"], about["events"], strict=True):
        known.add(f"{'word' if symbols == body.symbols else f'one of {symbols - len(SPECIAL):,} classes'}"
                  f" {distance} back")  # fmt: skip
        lines.append(f"  {contexts:>19,}  {events:>13,}  {', '.join(sorted(known))}")
    return lines


def _describe_orders(body: NgramBody, component: Component) -> list[str]:
    """A line for each order."""
    about = component.about
    lines = ["  order      n-grams  bytes each  discounts            low rank layers (power, rank)"]
    discounts = about.get("discounts", ["-"] * len(body.sizes))  # those of an ARPA file are not known
    for n, (grams, discount) in enumerate(zip(body.sizes, discounts, strict=True), 1):
        shown = " ".join(f"{d:.3f}" for d in discount) if isinstance(discount, list) else discount
        rungs = "; ".join(f"{power:g}, {rank}" for power, rank in about.get("rungs", {}).get(str(n), []))
        highest = f" (highest {body.highest_rank(n)})" if rungs else ""
        each = sum(t.nbytes for name, t in body.tensors.items() if body.order_of(name) == n) / max(grams, 1)
        lines.append(f"  {n:>5} {grams:>12,} {each:>11.1f}  {shown:<19}  {rungs or '-'}{highest}")
    return lines
