"""The list of experiments: a page at a time, searched without JavaScript, and never slow."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from services import Running, call, running

from heavybandits.service.dashboard import listing, prepared
from heavybandits.service.dashboard.listing import Glance, Glimpse
from heavybandits.service.dashboard.listing import glance as original
from heavybandits.service.storage import open_storage

pytestmark = pytest.mark.slow
NAMES = [f"test {number}" for number in range(listing.LISTED_EXPERIMENTS + 3)]


@pytest.fixture(scope="module")
def looked_at() -> list[str]:
    """Return the names of the experiments whose rows were worked out."""
    return []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, looked_at: list[str]) -> Iterator[Running]:
    def glance(of: Glimpse) -> Glance:
        looked_at.append(of.view.name)
        return original(of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "glance", glance)
        patch.setattr(listing, "LIST_SECONDS", 60.0)
        patch.setattr(prepared, "FRESH_SECONDS", 0.0)
        with running(open_storage(f"sqlite:///{tmp_path_factory.mktemp('list')}/log.db")) as found:
            for name in NAMES:
                arms = [{"name": "blue"}, {"name": "green"}]
                assert found("PUT", f"/{name.replace(' ', '%20')}", {"arms": arms, "policy": "ucb"}).status == 201
            yield found


def listed(server: Running, query: str = "") -> tuple[list[str], str]:
    answer = call(server.address, "GET", f"/{query}")
    assert answer.status == 200
    page = answer.body.decode()
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]*)</a>', page), page


def test_only_what_is_shown_is_worked_out(server: Running, looked_at: list[str]) -> None:
    names, page = listed(server)
    assert names == NAMES[:2:-1]  # the newest first
    assert set(looked_at) == set(names)
    assert "Page 1 of 2" in page
    names, page = listed(server, "?page=2")
    assert names == NAMES[2::-1]
    assert 'rel="prev"' in page
    assert set(looked_at) == set(NAMES)
    for strange in ("?page=99", "?page=-1", "?page=x", "?page=0"):
        assert listed(server, strange)[0]


def test_it_is_searched_by_name(server: Running) -> None:
    names, page = listed(server, "?q=TEST+1")
    assert names == [name for name in reversed(NAMES) if "test 1" in name]
    assert f"{len(names)} experiments of {len(NAMES)} with “TEST 1” in the name" in page
    names, page = listed(server, "?q=%3Cscript%3E")
    assert names == []
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    _, page = listed(server, "?q=test&page=2")
    assert 'href="/?page=1&amp;q=test"' in page


def test_rows_show_evidence_leader_lift_and_traffic(server: Running) -> None:
    for number in range(80):
        for arm, value in (("blue", number % 5 == 0), ("green", number % 5 != 0)):
            server("POST", "/test%200/observations", {"arm": arm, "value": float(value)})
    server("POST", "/test%200/decisions", {})
    _, page = listed(server, "?q=test+0")
    assert "winner green" in page
    assert re.search(r'data-label="leader"><i class="dot hue-1"></i>green<', page)
    assert re.search(r'data-label="lift">\+[\d,]+% \(\+[\d,]+% or more\)<', page)
    assert 'data-label="in 24 h">1</td>' in page
    assert "just now</time>" in page
    _, page = listed(server, "?q=test+11")
    assert "no rewards yet" in page
    assert ">never</td>" in page


def test_a_row_that_takes_long_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LIST_SECONDS", 0.0)
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        assert server("PUT", "/slow", {"arms": [{"name": "a"}], "policy": "ucb"}).status == 201
        names, page = listed(server)
        assert names == ["slow"]
        assert "being worked out" in page
        monkeypatch.setattr(listing, "LIST_SECONDS", 60.0)
        assert "no rewards yet" in listed(server)[1]
