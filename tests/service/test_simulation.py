"""Schedules of the simulation: none shows a mistake of the service, and mistakes that are planted are found."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import File
from simulation import CHUNK, Played, new_file

from heavybandits import __version__
from heavybandits.service.events import SECOND, Event
from heavybandits.service.experiments import decisions, rewards
from heavybandits.service.log import lane, turn
from heavybandits.service.log.lane import Lane
from heavybandits.service.replicas.replica import Replica
from heavybandits.service.storage import Session, StorageError

MOST_SCHEDULES = 300  # that are needed to find a planted mistake


@pytest.fixture(scope="module")
def file() -> Iterator[File]:
    with new_file() as made:
        yield made


def failing(file: File, seeds: range) -> dict[int, list[str]]:
    return {seed: found for seed in seeds if (found := Played(seed, file).problems)}


def test_some_schedules_lose_double_and_change_nothing(file: File) -> None:
    assert failing(file, range(20)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(20, 1020, CHUNK))
def test_many_schedules_lose_double_and_change_nothing(start: int, file: File) -> None:
    assert failing(file, range(start, start + CHUNK)) == {}


@pytest.mark.slow
def test_a_seed_leads_to_the_same_schedule_in_every_process(file: File) -> None:
    script = str(Path(__file__).with_name("simulation.py"))
    for seed in ("5", "7"):
        lines = [
            subprocess.check_output([sys.executable, script, seed], env={**os.environ, "PYTHONHASHSEED": hashing})
            for hashing in ("1", "2")
        ]
        ends = {line.split(b"\n")[-3] for line in lines}
        assert ends == {f"{Played(int(seed), file).steps} steps, digest {Played(int(seed), file).digest}".encode()}


# Mistakes to plant


def acknowledge_what_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    store, run_commands = Lane._store, turn.run_commands
    answers: list[Any] = []

    def run(*given: Any) -> Any:
        answers[:] = run_commands(*given)
        return list(answers)

    def eager(self: Lane, session: Session, commands: Any) -> Any:
        answers.clear()
        try:
            return store(self, session, commands)
        except StorageError:
            if len(answers) != len(commands):
                raise
            return list(answers)

    monkeypatch.setattr(lane, "run_commands", run)
    monkeypatch.setattr(Lane, "_store", eager)


def take_no_notice_of_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions.Decide, "keys", lambda self: ())


def forget_a_field_of_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    become = Replica._become

    def forgetful(self: Replica, held: Any) -> Replica:
        held.later_control = None
        return become(self, held)

    monkeypatch.setattr(Replica, "_become", forgetful)


def learn_twice_what_another_server_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = Replica.apply

    def twice(self: Replica, event: Event) -> None:
        apply(self, event)
        if event.kind == "reward" and not self.spec.reward.at_close:
            self.learner.learn(event)

    monkeypatch.setattr(Replica, "apply", twice)


def keep_replicas_whose_events_were_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Lane._store

    def keeping(self: Lane, session: Session, commands: Any) -> Any:
        held = dict(self.replicas)
        try:
            return store(self, session, commands)
        except StorageError:
            self.replicas.update(held)
            raise

    monkeypatch.setattr(Lane, "_store", keeping)


def store_the_probability_without_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "mixed", lambda shares, arm, propensity: propensity)


def end_windows_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "SECOND", SECOND // 2)


def write_snapshots_outside_of_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(self: Lane, session: Session, replica: Replica) -> None:
        with session.transaction([replica.exp]):
            session.put_snapshot(replica.exp, replica.seq, __version__, replica.snapshot())

    monkeypatch.setattr(Lane, "_snapshot", snapshot)


@pytest.mark.slow
@pytest.mark.parametrize("plant", [
    acknowledge_what_is_not_stored, take_no_notice_of_ids, forget_a_field_of_snapshots,
    learn_twice_what_another_server_stored, keep_replicas_whose_events_were_not_stored,
    store_the_probability_without_the_floor, end_windows_early, write_snapshots_outside_of_transactions,
], ids=lambda plant: plant.__name__)  # fmt: skip
def test_planted_mistakes_are_found(plant: Any, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(Played(seed, file).problems for seed in range(MOST_SCHEDULES))
