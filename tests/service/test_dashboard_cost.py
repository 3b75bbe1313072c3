"""What keeps pages and reports cheap: they are shared, bounded, and worked out outside the log's thread."""

import asyncio
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from histories import BEGIN, event, play, played
from services import call, running

from heavybandits.service.dashboard import prepared
from heavybandits.service.dashboard.curves import charts
from heavybandits.service.dashboard.known import DRAWN_ARMS, known
from heavybandits.service.dashboard.panels import LEADING_ARMS, leaderboard, leading
from heavybandits.service.dashboard.prepared import Preparations, Prepared
from heavybandits.service.dashboard.rivals import MOST_REPLAYED_ARMS, Rivals
from heavybandits.service.http.web import Refused
from heavybandits.service.log.requests import ReadReplica
from heavybandits.service.replicas import totals
from heavybandits.service.replicas.learners.arms import ArmsLearner
from heavybandits.service.replicas.learners.linear import LinearLearner
from heavybandits.service.replicas.replica import ARMS_OVER_TIME, Replica
from heavybandits.service.replicas.report import Taken, checked, full_report, taken
from heavybandits.service.spec import Arm, ContextRule, Experiment
from heavybandits.service.storage import open_storage

SECOND = 1_000_000


def experiment(n_arms: int, **more: Any) -> Experiment:
    return Experiment(arms=[Arm(f"arm {number}") for number in range(n_arms)], policy="ucb", **more)


@pytest.fixture
def replica() -> Replica:
    return played(experiment(3), [("arm 0", 1.0), ("arm 1", 2.0), ("arm 2", 0.5)])


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[Prepared]:
    """Return a list of all preparations."""
    made: list[Prepared] = []
    original = prepared.prepare_page

    def prepare(of: Taken) -> Prepared:
        made.append(original(of))
        return made[-1]

    monkeypatch.setattr(prepared, "prepare_page", prepare)
    return made


def asking(replica: Replica) -> Callable[[Any], Any]:
    """Return what reads from a replica as the log would."""

    async def ask(look: ReadReplica) -> Any:
        return look.read(replica)

    return ask


def test_all_who_look_at_once_share_one_preparation(replica: Replica, count: list[Prepared]) -> None:
    async def visit() -> list[Prepared]:
        pages = Preparations(asking(replica), taken, prepared.prepare_page)
        return await asyncio.gather(*(pages.of("x") for _ in range(50)))

    assert all(page is count[0] for page in asyncio.run(visit()))
    assert len(count) == 1


def test_a_page_is_prepared_again_only_if_something_has_happened(
    replica: Replica, count: list[Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "FRESH_SECONDS", 0.0)

    async def visit() -> None:
        pages = Preparations(asking(replica), taken, prepared.prepare_page)
        first = await pages.of("x")
        assert (await pages.of("x")).live is first.live
        assert len(count) == 1
        play(replica, "arm 0", 1.0)
        assert "after 4 decisions" in (await pages.of("x")).live
        assert len(count) == 2

    asyncio.run(visit())


def test_a_fresh_page_is_shown_again_unless_its_visitor_changed_something(
    replica: Replica, count: list[Prepared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "FRESH_SECONDS", float("inf"))

    async def visit() -> None:
        pages = Preparations(asking(replica), taken, prepared.prepare_page)
        first = await pages.of("x")
        play(replica, "arm 0", 1.0)
        assert await pages.of("x") is first
        pages.forget("x")
        assert "after 4 decisions" in (await pages.of("x")).live
        assert len(count) == 2

    asyncio.run(visit())


def test_after_a_failure_the_next_visitor_tries_again(replica: Replica) -> None:
    async def visit() -> None:
        fails = [True]

        async def ask(work: Any) -> Any:
            if fails:
                fails.pop()
                raise Refused(503, "unavailable")
            return await asking(replica)(work)

        pages = Preparations(ask, taken, prepared.prepare_page)
        with pytest.raises(Refused, match="unavailable"):
            await pages.of("x")
        assert "after 3 decisions" in (await pages.of("x")).live

    asyncio.run(visit())


def test_pages_that_nobody_visits_are_dropped(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit() -> None:
        pages = Preparations(asking(replica), taken, prepared.prepare_page)
        await pages.of("x")
        monkeypatch.setattr(prepared, "PAGE_KEPT_SECONDS", 0.0)
        await pages.of("y")
        assert list(pages._latest) == ["y"]

    asyncio.run(visit())


def test_no_page_takes_a_snapshot_and_reports_take_one_per_event(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_at: list[int] = []
    original = Replica.snapshot

    def snapshot(self: Replica) -> bytes:
        taken_at.append(self.seq)
        return original(self)

    monkeypatch.setattr(Replica, "snapshot", snapshot)
    prepared.prepare_page(taken(replica))
    assert taken_at == []
    first, again = (full_report(*checked(replica)) for _ in range(2))
    assert first["checksum"] == again["checksum"] == replica.checksum()
    play(replica, "arm 0", 1.0)
    assert full_report(*checked(replica))["checksum"] != first["checksum"]
    assert taken_at == [7, 7, 9]  # the second one was the test's own


def test_a_page_shows_the_leading_arms_with_leader_and_control_in_their_order() -> None:
    n_arms = 2 * LEADING_ARMS
    shuffled = sorted(range(n_arms), key=lambda number: 37 * number % n_arms)  # the first are of all sizes
    rewards = [(f"arm {number}", float(number)) for number in shuffled]
    page = prepared.prepare_page(taken(played(experiment(n_arms, control="arm 3"), rewards)))
    table = page.live.partition('id="arms"')[2]
    names = re.findall(r'<th scope="row"[^>]*><i [^>]*></i>(arm \d+)', table)
    assert names == ["arm 3", *(f"arm {number}" for number in range(n_arms - LEADING_ARMS + 1, n_arms))]
    assert 'href="/experiments/x/arms">All 100 arms</a>' in page.live
    rows = leaderboard(page.known, leading(page.known))
    assert [row.rank for row in (rows[0], rows[-1])] == ["97", "1"]
    assert [row.leads for row in rows] == [False] * (LEADING_ARMS - 1) + [True]


def test_arms_keep_their_colours_whoever_is_busy() -> None:
    replica = played(experiment(DRAWN_ARMS + 4), [])
    looks: dict[str, set[int]] = {}
    for busy in (range(DRAWN_ARMS), range(4, DRAWN_ARMS + 4)):
        for number in busy:
            for _ in range(1 + number):
                play(replica, f"arm {number}", 1.0)
        found = known(taken(replica))
        for chart in charts(found):
            for line in chart.lines:
                looks.setdefault(line.name, set()).add(line.hue)
        for row in leaderboard(found, found.totals.arms):
            looks.setdefault(row.name, set()).add(row.hue)
    assert looks == {f"arm {number}": {number % 8} for number in range(DRAWN_ARMS + 4)}


def test_spans_of_a_report_have_the_busiest_arms_and_all_decisions() -> None:
    n_arms = ARMS_OVER_TIME + 10
    replica = played(experiment(n_arms), [(f"arm {number}", 1.0) for number in range(n_arms)])
    for number in range(10, n_arms):
        play(replica, f"arm {number}", 1.0, BEGIN + 2 * SECOND)
    spans = full_report(*checked(replica))["spans"]
    assert [span["decisions"] for span in spans] == [n_arms, ARMS_OVER_TIME]
    assert [list(span["arms"]) for span in spans] == [[f"arm {number}" for number in range(10, n_arms)]] * 2
    assert spans[0]["arms"]["arm 10"] == {"decisions": 1, "rewards": 1, "total": 1.0}


def test_a_span_without_estimates_does_not_show_later_ones() -> None:
    replica = played(experiment(2), [])
    replica.apply(event(replica, "decision", "arm 0", None))
    play(replica, "arm 1", 5.0, BEGIN + 2 * SECOND)
    assert [span["estimates"] for span in full_report(*checked(replica))["spans"]] == [{}, {"arm 1": 5.0}]


@pytest.mark.parametrize("plays", [
    [(time // 3, time % 5) for time in range(60)],
    [(0, 0), (4, 1), (8, 2), (10, 3), (11, 2)],  # the third span becomes part of the last, which grows
])  # fmt: skip
def test_a_copy_of_totals_is_not_changed_by_later_events(
    plays: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "MOST_SPANS", 4)
    replica, copies = played(experiment(5), []), []
    for second, number in plays:
        play(replica, f"arm {number}", 1.0, BEGIN + second * SECOND)
        copy = replica.totals.copied()
        for arm in copy.arms.values():
            arm.sample = []  # which are shared
        copies.append((copy, msgspec.msgpack.encode(copy)))
    assert replica.totals.width > SECOND
    assert all(msgspec.msgpack.encode(copy) == contents for copy, contents in copies)


def test_rows_that_are_worked_out_later_are_those_of_before(replica: Replica) -> None:
    assert isinstance(replica.learner, ArmsLearner)
    before, later, brief = replica.learner.rows(), *map(replica.learner.rows_later, (True, False))
    play(replica, "arm 0", 9.0)
    assert later() == before != replica.learner.rows()
    assert [row.estimate for row in brief()] == [row.estimate for row in before]
    assert all(np.isnan(row.index) for row in brief())


def test_rows_of_linear_policies_have_estimates_but_no_indices() -> None:
    spec = Experiment(arms=[Arm("a"), Arm("b")], policy="lin-ucb", context=ContextRule(shared=True))
    learner = LinearLearner.made(spec)
    assert [row.estimate != row.estimate for row in learner.rows()] == [True, True]
    learner.assign("a", ["a", "b"], b"0" * 32, [1.0, 0.0])
    later = learner.rows_later(indices=True)
    learner.assign("b", ["a", "b"], b"1" * 32, [1.0, 0.0])
    assert [(row.pending, row.estimate) for row in later()] == [(1, 0.0), (0, 0.0)]
    assert all(np.isnan(row.index) for row in later())


def test_experiments_with_very_many_arms_are_not_replayed() -> None:
    rivals = Rivals()
    found = asyncio.run(rivals.replay("x", known(taken(played(experiment(MOST_REPLAYED_ARMS + 1), [])))))
    assert found.note == "Experiments with more than 100 arms are not replayed: that takes minutes."
    assert rivals._pool is None


@pytest.mark.slow
def test_a_replay_under_way_ends_with_the_server() -> None:
    rivals = Rivals()
    rivals._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    asleep = rivals._pool.submit(time.sleep, 600.0)
    (process,) = rivals._pool._processes.values()
    rivals.close()
    process.join(60.0)
    assert process.exitcode == -signal.SIGTERM
    assert isinstance(asleep.exception(60.0), BrokenProcessPool | CancelledError)


@pytest.mark.slow
def test_the_page_of_a_thousand_arms_is_small() -> None:
    names = [f"{number:064}" for number in range(1000)]
    spec, rng = Experiment(arms=[Arm(name) for name in names], policy="ucb"), np.random.default_rng(0)
    found = known(taken(played(spec, [(name, float(rng.exponential())) for name in names for _ in range(3)])))
    page = prepared.rendered(
        "arms.html.j2", has_tokens=True, experiment=found.report.experiment, rows=leaderboard(found, names)
    )
    assert len(page.encode()) < 300_000


@pytest.mark.slow
def test_the_page_of_all_arms_has_all_of_them(tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        arms = [{"name": f"arm {number}"} for number in range(LEADING_ARMS + 5)]
        assert server("PUT", "/x", {"arms": arms, "policy": "ucb"}).status == 201
        paths = ("/experiments/x/live", "/experiments/x/arms")
        pages = [call(server.address, "GET", path).body.decode() for path in paths]
        assert [page.count('<button name="pause"') for page in pages] == [LEADING_ARMS, LEADING_ARMS + 5]
