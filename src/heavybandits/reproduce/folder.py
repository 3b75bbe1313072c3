"""The report on a folder that holds studies of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ..report.folder import Reported, stored_sections
from ..report.page import write_page
from ..report.section import Section
from ..studies.places import find_stores
from ..studies.store import Store
from .further import load_further
from .headline import closing
from .page import claims_opening
from .paper import PAPER_EXPERIMENTS
from .verdicts import verdicts


def report_paper(
    folder: Path, store: str | None = None, drawn: Mapping[str, Section] = MappingProxyType({})
) -> Reported:
    """Write the report on a folder: its claims first, then its studies, then others; see :func:`.report_folder`."""
    order = {name: number for number, name in enumerate(PAPER_EXPERIMENTS)}
    sections = sorted(
        stored_sections(folder, store, drawn), key=lambda section: order.get(section.study.name, len(order))
    )
    studies = [section.study for section in sections]
    decided = verdicts({study.name: study for study in studies}, load_further(store or folder))
    return Reported(studies, write_page(folder, sections, claims_opening(sections, decided)), closing(decided))


def holds_paper(folder: str | Path) -> bool:
    """Return whether a folder, or an address, holds studies of the paper."""
    return any(Store(location).record.name in PAPER_EXPERIMENTS for location in find_stores(folder))
