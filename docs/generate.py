"""Write what is generated from registered policies and estimators; run it after adding or changing one.

``python docs/generate.py`` writes the list of names and looks, the stub of the package, the pages on policies, and the
policies of the studies that play all of them.  With ``--only NAME`` it then plays that policy alone, to pin its results
in ``tests/golden`` and to put its regret on the zoo into ``docs/_data``.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

import policies
import stub
import zoo

from heavybandits.algorithms.registry import all_entries
from heavybandits.names import CLASSES

ROOT = Path(__file__).parent.parent
NAMES, STUB = (ROOT / "src" / "heavybandits" / name for name in ("names.py", "__init__.pyi"))
TAB = "    "
HEAD = '''"""Where each name is registered, how it is drawn, and what is public; no file is loaded.

Written by ``python docs/generate.py``.
"""
'''


def names() -> str:
    """Return the module that says where each name is registered, and how it is drawn."""
    entries = dict(sorted(all_entries().items()))
    files = {name: entry.module.removeprefix("heavybandits.algorithms.") for name, entry in entries.items()}
    looks = {name: entry.look for name, entry in entries.items() if entry.look}
    homes = {name: module for module, group in stub.public().items() for name in group}
    public = {name: homes[name] for name in stub.in_order(homes)}
    classes = {entry.make.__name__: name for name, entry in entries.items() if entry.preset_of is None}
    # All classes of policies were public until version 0.2.  Those of later versions never were, so none is added.
    inside = {cls: classes[cls] for cls in CLASSES if cls in classes and cls not in public}
    said = {"MODULES": files, "LOOKS": looks, "CLASSES": inside, "PUBLIC": public}
    return HEAD + "".join(listed(name, texts) for name, texts in said.items())


def listed(name: str, texts: dict[str, str]) -> str:
    """Return a dictionary as Python source."""
    items = [f'"{key}": "{text}",'.replace(" ", "\0") for key, text in texts.items()]
    lines = textwrap.fill(" ".join(items), 120, initial_indent=TAB, subsequent_indent=TAB, break_on_hyphens=False)
    return f"\n{name} = {{\n{lines}\n}}  # fmt: skip\n".replace("\0", " ")


def pages() -> dict[Path, str]:
    """Return all that is generated and takes no playing, by file."""
    studies = {zoo.file_of(study): zoo.with_policies(study, kind) for kind, study in zoo.STUDIES.items()}
    return {NAMES: names(), STUB: stub.stub(), **policies.pages(), **studies}


def main() -> None:
    """Write the files, and play one policy if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="also play this policy: pin its results, and its regrets")
    only = parser.parse_args().only
    if only is not None and only not in all_entries():
        parser.error(f"--only: no file registers {only!r}")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    if only is not None:
        sys.path.append(str(ROOT / "tests"))
        import test_golden

        test_golden.write(only)
        zoo.play(only)


if __name__ == "__main__":
    main()
