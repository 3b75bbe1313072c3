"""Draw the small pictures of the gallery, and write its index for the repository: examples/README.md.

Run ``python docs/pictures.py`` after adding or changing an example, with the names of the examples to draw, or without
to draw all of them, which takes some minutes.
"""

from __future__ import annotations

import io
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parent.parent / "examples"
WIDTH, COLOURS = 640, 48
HEAD = """\
# Gallery

Each picture is drawn by a short script that runs in a few seconds. The first run also compiles its policies, which
takes up to fifteen seconds more. Click a picture to see its code.

| | |
|---|---|
"""


def scripts() -> dict[str, str]:
    """Return the title of each example by its name."""
    return {file.stem: file.read_text(encoding="utf-8").splitlines()[1] for file in sorted(EXAMPLES.glob("*.py"))}


def page() -> str:
    """Return the index: two pictures in a row."""
    cells = [f"[![{title}](images/{name}.png)<br>{title}]({name}.py)" for name, title in scripts().items()]
    cells += [""] * (len(cells) % 2)
    return HEAD + "".join(f"| {left} | {right} |\n" for left, right in zip(cells[::2], cells[1::2], strict=True))


def draw(name: str) -> None:
    """Run an example, and store its first figure as a small picture."""
    from figures import STYLE
    from PIL import Image

    with plt.rc_context(STYLE):
        plt.switch_backend("template")  # shows nothing, without a warning
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        buffer = io.BytesIO()
        plt.figure(plt.get_fignums()[0]).savefig(buffer, format="png")
        plt.close("all")
    drawn = Image.open(buffer).convert("RGB")
    small = drawn.resize((WIDTH, round(WIDTH * drawn.height / drawn.width)), Image.Resampling.LANCZOS)
    (EXAMPLES / "images").mkdir(exist_ok=True)
    small.quantize(COLOURS).save(EXAMPLES / "images" / f"{name}.png", optimize=True)


def main() -> None:
    """Draw the pictures that are asked for, and write the index."""
    sys.path.insert(0, str(Path(__file__).parent / "_ext"))
    for name in sys.argv[1:] or scripts():
        draw(name)
    (EXAMPLES / "README.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
