"""How agents are built: from one base class, within a few files."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import heavybandits as hb
from heavybandits.online.base import BaseAgent

FOLDER = Path(hb.__file__).parent / "online"


@pytest.mark.parametrize("cls", [hb.Agent, hb.LinearAgent, hb.LipschitzAgent])
def test_an_agent_is_one_class_on_one_base(cls: type) -> None:
    assert cls.__bases__ == (BaseAgent,)


def test_making_an_agent_takes_at_most_ten_files_of_its_room() -> None:
    files = set[Path]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        files.add(Path(frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        hb.Agent(hb.UCB(), arms=["red", "green"])
    finally:
        sys.setprofile(None)
    ours = {file.stem for file in files if file.parent == FOLDER}
    assert "agent" in ours
    assert len(ours) <= 10
    assert len([*FOLDER.glob("[!_]*.py")]) <= 10
