"""How policies look in figures, pages and terminals: one colour and one line style for each name."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

from .names import LOOKS

# Eight colours that colour-blind readers can tell apart (Okabe and Ito 2008), without the pale yellow.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")

# The same hues for policies.  Orange, sky blue and grey are darker than the originals: thin lines must show on white.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, BROWN = (
    "#0072b2", "#d55e00", "#009e73", "#b8629a", "#cc8400", "#3f9ed8", "#707070", "#7b4b2a",
)  # fmt: skip
HERO = "#c2185b"  # only for `auto` and its kin
SOLID, DASHED, DASH_DOT, DASH_DOT_DOT, SHORT = LINES = (
    (), (5.0, 2.0), (6.0, 1.5, 1.2, 1.5), (6.0, 1.5, 1.2, 1.5, 1.2, 1.5), (2.2, 1.2),
)  # fmt: skip
LONG = (10.0, 2.0)  # only for the library's own policies
WORDS: dict[str, Any] = {  # of which a policy's file makes its look
    "blue": BLUE, "vermilion": VERMILION, "green": GREEN, "purple": PURPLE, "orange": ORANGE, "sky": SKY, "grey": GREY,
    "brown": BROWN, "hero": HERO, "solid": SOLID, "dashed": DASHED, "dash-dot": DASH_DOT,
    "dash-dot-dot": DASH_DOT_DOT, "short": SHORT, "long": LONG,
}  # fmt: skip
INK, FAINT = "#333a45", "#c9ced6"  # for text and axes
WHITE, NIGHT = "#ffffff", "#14171c"  # the light and the dark background of a page

HUES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, BROWN)


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    dashes: tuple[float, ...]  # lengths of dash and gap in line widths; none for a solid line
    width: float

    @property
    def text(self) -> str:
        """The colour for text on white."""
        return readable(self.colour, WHITE)

    @property
    def line(self) -> dict[str, Any]:
        """The keywords for matplotlib's ``plot``."""
        return {"color": self.colour, "linestyle": (0, self.dashes) if self.dashes else "-", "linewidth": self.width}


def look(name: str) -> Look:
    """Return how the policy of this name is drawn everywhere.

    A policy of the library states its look in its own file.  Any other name always gets the same look, which it may
    share with others.  A known name followed by a space and parameters keeps its colour and gets another line style.

    Examples
    --------
    >>> look("auto")
    Look(colour='#c2185b', dashes=(), width=2.6)
    >>> look("UCB").colour == look("ucb c=0.1").colour
    True
    """
    key = name.strip().lower()
    code = zlib.crc32(key.encode(errors="replace"))
    first = key.partition(" ")[0]
    if key in LOOKS:
        colour, dashes = map(WORDS.__getitem__, LOOKS[key].split())
    elif first in LOOKS:
        colour, dashes = WORDS[LOOKS[first].split()[0]], LINES[1 + code % (len(LINES) - 1)]
    else:
        colour, dashes = HUES[code % len(HUES)], LINES[code // len(HUES) % len(LINES)]
    return Look(colour, dashes, 2.6 if colour == HERO else 1.5)


def readable(colour: str, background: str, contrast: float = 4.5) -> str:
    """Return the colour, mixed with black or white until it has this contrast against the background.

    Contrast is defined by the Web Content Accessibility Guidelines, which ask for 4.5 in text.

    Examples
    --------
    >>> readable("#cc8400", WHITE), readable("#0072b2", NIGHT)
    ('#a36a00', '#2687be')
    """
    far = (0, 0, 0) if _luminance(_rgb(background)) > 0.5 else (255, 255, 255)
    for step in range(21):
        mixed = tuple(round(a + (b - a) * step / 20) for a, b in zip(_rgb(colour), far, strict=True))
        low, high = sorted((_luminance(mixed), _luminance(_rgb(background))))
        if (high + 0.05) / (low + 0.05) >= contrast:
            break
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def _luminance(rgb: tuple[int, ...]) -> float:
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (part / 255 for part in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
