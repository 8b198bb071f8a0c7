"""One way to write each kind of number, so that all outputs agree. ``None`` (there is no number) is a dash."""

from __future__ import annotations

MISSING = "–"


def perplexity(value: float | None) -> str:
    """Two digits after the point.

    >>> perplexity(230.8861)
    '230.89'
    """
    return MISSING if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """A gain in percent with its sign; a true minus, which is as wide as a plus.

    >>> percent(0.0652), percent(-0.021), percent(0.0)
    ('+6.5 %', '−2.1 %', '0.0 %')
    """
    if value is None:
        return MISSING
    shown = f"{value * 100:+.1f} %".replace("-", "−")
    return shown[1:] if shown[1:] == "0.0 %" else shown


def fine_percent(value: float | None) -> str:
    """A gain in percent with its sign, to two digits: small changes are worth no more.

    >>> fine_percent(0.00412), fine_percent(-0.1)
    ('+0.41 %', '−10.00 %')
    """
    return MISSING if value is None else f"{value * 100:+.2f} %".replace("-", "−")


def interval(low: float, high: float) -> str:
    """From, to.

    >>> interval(0.061, 0.0684)
    '+6.1 to +6.8 %'
    """
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def probability(p: float, smallest: float) -> str:
    """A p-value, or that it is the smallest which this many draws can show.

    >>> probability(0.0312, 0.0001), probability(0.0001, 0.0001)
    ('0.031', '≤ 0.0001')
    """
    return f"≤ {smallest:g}" if p <= smallest else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def spread(mean: float, deviation: float) -> str:
    """Mean ± standard deviation.

    >>> spread(230.71, 2.304)
    '230.71 ± 2.30'
    """
    return f"{perplexity(mean)} ± {deviation:.2f}"


def seconds(value: float | None) -> str:
    """Seconds, minutes or hours.

    >>> seconds(4.04), seconds(75), seconds(9000)
    ('4.0 s', '1.2 min', '2.5 h')
    """
    if value is None:
        return MISSING
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min")):
        if value < limit:
            return f"{value / unit:.1f} {name}"
    return f"{value / 3600:.1f} h"


def size(value: float | None) -> str:
    """Bytes.

    >>> size(102_400_000), size(532)
    ('102.4 MB', '532 bytes')
    """
    if value is None:
        return MISSING
    for factor, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.1f} {name}"
    return f"{value:.0f} bytes"


def speed(value: float | None) -> str:
    """Tokens a second.

    >>> speed(6_534_000), speed(81_000)
    ('6.5 M/s', '81 k/s')
    """
    if value is None:
        return MISSING
    return f"{value / 1e6:.1f} M/s" if value >= 1e6 else f"{value / 1e3:.0f} k/s"


def count(value: int | None) -> str:
    """How many.

    >>> count(2051910)
    '2,051,910'
    """
    return MISSING if value is None else f"{value:,}"


def share(part: int, whole: int) -> str:
    """A part in percent.

    >>> share(13, 1000)
    '1.3 %'
    """
    return f"{part / whole * 100:.1f} %" if whole else MISSING
