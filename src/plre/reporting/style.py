"""How the page looks. Colours of lines are those of Okabe and Ito, which people with any colour vision can tell apart,
darkened for white paper where they are too light for a thin line."""

from __future__ import annotations

_LIGHT = ("#d55e00", "#444b54", "#0072b2", "#00805c", "#b0568a", "#a87400", "#2b8cc4", "#6b4fa0")
_DARK = ("#ff8a3d", "#b6bec9", "#5ab4f0", "#2fc79a", "#e39ac4", "#f0b429", "#8ad0f7", "#b7a0e8")


def _colours(palette: tuple[str, ...]) -> str:
    return " ".join(f"--s{i}: {colour};" for i, colour in enumerate(palette))


_SERIES = "\n".join(f".s{i} {{ --colour: var(--s{i}); }}" for i in range(len(_LIGHT)))

STYLE = f"""\
:root {{
  color-scheme: light dark;
  --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --panel: #f6f8fa; --rule: #d8dee4; --grid: #e9edf1;
  --note: #fff8e1; --note-rule: #e0a800;
  {_colours(_LIGHT)}
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    --ink: #e6e9ed; --soft: #9aa4b0; --paper: #14171b; --panel: #1d2127; --rule: #343b44; --grid: #272d34;
    --note: #2b2514; --note-rule: #b98a00;
    {_colours(_DARK)}
  }}
}}
* {{ box-sizing: border-box; }}
body {{
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}}
main {{ max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }}
h1 {{ font-size: 2rem; line-height: 1.2; margin: 0 0 .75rem; letter-spacing: -.01em; }}
h2 {{ font-size: 1.2rem; margin: 2.75rem 0 .75rem; }}
p.lead {{ font-size: 1.1rem; margin: 0 0 .5rem; max-width: 46rem; }}
p.note {{ color: var(--soft); font-size: .875rem; margin: .5rem 0 0; }}
header dl {{
  display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1px; margin: 1.5rem 0 0;
  background: var(--rule); border: 1px solid var(--rule); border-radius: 8px; overflow: hidden;
}}
header dl div {{ background: var(--panel); padding: .6rem .9rem; }}
header dt {{ color: var(--soft); font-size: .8rem; }}
header dd {{ margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }}
aside {{
  margin: 1.5rem 0 0; padding: .75rem 1rem; background: var(--note); border-left: 4px solid var(--note-rule);
  border-radius: 4px; overflow-wrap: anywhere;
}}
aside h2 {{ margin: 0 0 .25rem; font-size: 1rem; }}
ul {{ margin: 0; padding-left: 1.2rem; }}
li {{ margin: .3rem 0; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: .925rem; }}
th, td {{ padding: .42rem .75rem; text-align: left; white-space: nowrap; }}
th {{ color: var(--soft); font-weight: 600; border-top: 2px solid var(--ink); border-bottom: 1px solid var(--ink); }}
tbody tr:last-child td {{ border-bottom: 2px solid var(--ink); }}
tbody tr:hover {{ background: var(--panel); }}
tr.group td {{ border-top: 1px solid var(--rule); }}
th:first-child, td:first-child {{ position: sticky; left: 0; background: inherit; }}
thead tr, tbody tr {{ background: var(--paper); }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
figure {{ margin: 2.5rem 0 0; overflow-x: auto; }}
figcaption {{ font-weight: 600; font-size: 1.2rem; margin-bottom: .5rem; position: sticky; left: 0; }}
svg {{ display: block; width: 100%; min-width: 32rem; height: auto; font: 13px system-ui, sans-serif; }}
svg text {{ fill: var(--ink); }}
svg .tick {{ fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }}
svg .end {{ text-anchor: end; }}
svg .middle {{ text-anchor: middle; }}
svg .grid {{ stroke: var(--grid); }}
svg .zero, svg .axis {{ stroke: var(--soft); }}
svg .series polyline {{ fill: none; stroke: var(--colour); stroke-width: 1.8; stroke-linejoin: round; }}
svg .series path {{ fill: var(--colour); stroke: var(--paper); stroke-width: 1; }}
svg .series .name {{
  fill: var(--colour); font-weight: 500; paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
}}
svg .series .leader {{ stroke: var(--colour); opacity: .5; }}
svg .strong polyline {{ stroke-width: 3; }}
svg .strong .name {{ font-weight: 700; }}
svg .dashed polyline {{ stroke-dasharray: 5 4; stroke-width: 1.5; }}
{_SERIES}
#notes li {{ font-size: .925rem; max-width: 50rem; }}
pre {{
  background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: .75rem 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere;
}}
code {{ font: .875em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }}
summary {{ cursor: pointer; margin-top: 1rem; }}
.signatures dt {{ font-weight: 600; margin-top: .6rem; font-size: .875rem; }}
.signatures dd {{ margin: 0; overflow-wrap: anywhere; color: var(--soft); }}
@media (max-width: 40rem) {{
  main {{ padding: 1.5rem 1rem 3rem; }}
  h1 {{ font-size: 1.6rem; }}
  th, td {{ padding: .4rem .5rem; }}
}}
@media print {{ .wide, figure {{ overflow: visible; }} section, figure {{ break-inside: avoid; }} }}
"""
