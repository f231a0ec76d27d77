"""A trace in a notebook: attention as a heat map, with the words on both axes. Block and head can be chosen."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from qkv import html

if TYPE_CHECKING:
    from qkv.tracing.trace import Trace

WEIGHTS = re.compile(r"(.+)\.(\d+)\.(attention|cross_attention)\.weights")
MOST_CELLS = 64 * 64  # of one map
CELL, LETTER = 20, 7.5  # pixels
LONGEST_WORD = 14
NUMBERS = count(1)

SCRIPT = """(() => {
  const root = document.getElementById("%s");
  const maps = JSON.parse(root.querySelector("script").textContent);
  const [kind, block, head] = root.querySelectorAll("select");
  const fill = (list, words) => list.replaceChildren(...words.map((word, place) => new Option(word, place)));
  const draw = () => {
    const map = maps[kind.value], bytes = atob(map.weights);
    root.querySelectorAll("svg").forEach((each, place) => { each.style.display = place == kind.value ? "" : "none"; });
    const cells = root.querySelectorAll("svg")[kind.value].querySelectorAll("rect");
    const start = (block.value * map.heads.length + Number(head.value)) * cells.length;
    cells.forEach((cell, place) => {
      const weight = bytes.charCodeAt(start + place) / 255;
      cell.setAttribute("fill-opacity", weight);
      cell.firstChild.textContent = cell.firstChild.textContent.replace(/: [^:]*$/, ": " + weight.toFixed(2));
    });
  };
  kind.onchange = () => { const map = maps[kind.value]; fill(block, map.blocks); fill(head, map.heads); block.value = map.blocks.length - 1; draw(); };
  block.onchange = head.onchange = draw;
})();"""


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The attention of all blocks of one kind."""

    title: str
    rows: list[str]
    columns: list[str]
    weights: Any  # (blocks, heads, rows, columns)

    def means(self) -> Any:
        """With the mean of the heads first, as bytes.  (blocks, 1 + heads, rows, columns)"""
        both = np.concatenate([self.weights.mean(1, keepdims=True), self.weights], axis=1)
        return np.rint(255 * both.clip(0, 1)).astype(np.uint8)

    def to_dict(self) -> dict[str, Any]:
        blocks, heads = self.weights.shape[:2]
        return {
            "blocks": [f"block {number}" for number in range(blocks)],
            "heads": ["mean of the heads", *(f"head {number}" for number in range(heads))],
            "weights": base64.b64encode(self.means().tobytes()).decode(),
        }


def trace_html(trace: Trace) -> str:
    texts = html.table([("input", trace.text), ("output", trace.output)], texts=2)
    attentions = attentions_of(trace)
    small = [each for each in attentions if each.weights[0, 0].size <= MOST_CELLS]
    shown = ""
    if small:
        shown = chooser(small)
    elif attentions:
        rows, columns = attentions[0].weights.shape[2:]
        shown = html.line(
            f"The attention has {rows} × {columns} weights, too many for a map here. See qkv.explore."
        )
    arrays = html.table(
        ((name, " × ".join(map(str, trace[name].shape))) for name in trace), ["name", "shape"]
    )
    return texts + shown + html.folded(f"{len(trace)} arrays", arrays)


def attentions_of(trace: Trace) -> list[Attention]:
    """Cross-attention first, because it shows which words belong together."""
    blocks: dict[tuple[str, str], list[Any]] = {}
    for name in trace:
        found = WEIGHTS.fullmatch(name)
        if found:
            blocks.setdefault((found[3], found[1]), []).append(trace[name])
    attentions = []
    for (kind, side_name), weights in sorted(blocks.items(), key=lambda item: item[0][0] == "attention"):
        side = trace.side(side_name)
        is_cross = kind == "cross_attention"
        keys = trace.sides[0].tokens if is_cross else side.tokens
        words = side.output or side.tokens if is_cross else side.tokens
        if all(each.shape == (weights[0].shape[0], len(words), len(keys)) for each in weights):
            title = f"{side_name} {'cross' if is_cross else 'self'}-attention"
            attentions.append(
                Attention(title=title, rows=list(words), columns=list(keys), weights=np.stack(weights))
            )
    return attentions


def chooser(attentions: list[Attention]) -> str:
    name = f"qkv-trace-{next(NUMBERS)}-{np.random.default_rng().integers(1 << 40)}"  # unique on the page
    first = attentions[0].to_dict()
    lists = "".join(
        f'<select aria-label="{label}" style="margin-right:8px">{options(words, chosen)}</select>'
        for label, words, chosen in (
            ("attention", [each.title for each in attentions], 0),
            ("block", first["blocks"], len(first["blocks"]) - 1),
            ("head", first["heads"], 0),
        )
    )
    maps = "".join(svg(each, visible=place == 0) for place, each in enumerate(attentions))
    # Only an end tag can end a script, so every "<" of the data is escaped.
    data = json.dumps([each.to_dict() for each in attentions]).replace("<", "\\u003c")
    return (
        f'<div id="{name}"><div>{lists}</div>{maps}<script type="application/json">{data}</script></div>'
        f"<script>{SCRIPT % name}</script>"
    )


def options(words: list[str], chosen: int) -> str:
    return "".join(
        f'<option value="{place}"{" selected" if place == chosen else ""}>{html.text(word)}</option>'
        for place, word in enumerate(words)
    )


def svg(attention: Attention, *, visible: bool) -> str:
    """The mean of the heads of the last block. A row for each output word, a column for each input word."""
    rows, columns = ([shorten(word) for word in words] for words in (attention.rows, attention.columns))
    left, top = (12 + LETTER * max(map(len, words)) for words in (rows, columns))
    weights = attention.means()[-1, 0] / 255
    parts = [
        f'<text x="{left - 6:.0f}" y="{top + CELL * (place + 0.7):.0f}" text-anchor="end">{html.text(word)}</text>'
        for place, word in enumerate(rows)
    ]
    parts += [
        f'<text transform="translate({left + CELL * (place + 0.7):.0f} {top - 6:.0f}) rotate(-90)">{html.text(word)}</text>'
        for place, word in enumerate(columns)
    ]
    parts += [
        f'<rect x="{left + CELL * column:.0f}" y="{top + CELL * row:.0f}" width="{CELL}" height="{CELL}" fill="#1f6feb" '
        f'fill-opacity="{weight:.3f}" stroke="#8884"><title>{html.text(rows[row])} → {html.text(columns[column])}: '
        f"{weight:.2f}</title></rect>"
        for (row, column), weight in np.ndenumerate(weights)
    ]
    wide, high = left + CELL * len(columns) + 4, top + CELL * len(rows) + 4
    hidden = "" if visible else "display:none;"
    return (
        f'<svg role="img" aria-label="{html.text(attention.title)}" width="{wide:.0f}" height="{high:.0f}" '
        f'style="{hidden}font:12px monospace;fill:currentColor">{"".join(parts)}</svg>'
    )


def shorten(word: str) -> str:
    word = word.strip() or "␣"
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
