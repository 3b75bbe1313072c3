"""Formulas as MathML, which browsers draw by themselves: the site needs neither a network nor JavaScript for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

# Commands that docutils' converter does not know, and the ones to use instead.
SYNONYMS = {r"\dots": r"\ldots", r"\Bigm|": r"\mid "}


def mathml(node: nodes.Node, *, block: bool) -> str:
    """Return the formula of a node as MathML."""
    source = node.astext()
    for command, known in SYNONYMS.items():
        source = source.replace(command, known)
    try:
        formula = tex2mathml(source, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in the formula %r", error, source, location=node)
        return f"<code>{nodes.Text(source)}</code>"
    for brace in "{}":  # docutils lets them grow, which LaTeX does not
        formula = formula.replace(f"<mo>{brace}</mo>", f'<mo stretchy="false">{brace}</mo>')
    return formula


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def displayed(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(f'<div class="formula">{mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
