"""Virtual threads: what stands in for ``threading`` and ``time`` when one seed decides who runs next and how time goes.

A fiber goes on until it waits for something, or until it says that somebody else may go on.  So a whole service runs in
one thread, as fast as the processor allows, and the same seed leads to the same run.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from random import Random
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

LINES_SHOWN = 300
WAKE_UP = 0.04  # the chance that someone who waits for a time to come is next although others could go on


class Killed(GreenletExit):
    """The process of a fiber has ended."""


class Fiber(greenlet):
    """A thread that goes on when the scheduler says so.

    Parameters
    ----------
    name
        What it is called in the trace.
    owner
        The process that it belongs to.
    work
        What it does.
    hub
        Where the scheduler runs.
    pace
        How often it is next, compared with others.
    """

    def __init__(self, name: str, owner: object, work: Callable[[], object], hub: greenlet, pace: float) -> None:
        super().__init__(work, parent=hub)
        self.name, self.owner, self.pace = name, owner, pace
        self.deadline = 0.0  # when it goes on at the latest, if it sleeps


def running() -> Fiber:
    """Return the fiber that calls this."""
    fiber = getcurrent()
    assert isinstance(fiber, Fiber), "only fibers can wait"
    return fiber


class Scheduler:
    """Decides who goes on.

    Parameters
    ----------
    rng
        Draws it.
    """

    def __init__(self, rng: Random) -> None:
        self.now, self.steps = 0.0, 0  # seconds, and how often somebody went on
        self._said: list[tuple[float, str, str]] = []  # when, by whom, and what
        self._rng, self._hub = rng, getcurrent()
        self._all, self._ready, self._asleep = list[Fiber](), list[Fiber](), list[Fiber]()
        self.frozen: list[object] = []  # processes that do not go on, as if their machines were suspended
        self._doomed: list[object] = []
        self._resting: tuple[Fiber, int, Fiber | None] | None = None  # who rests, up to which step, or until whose end
        self._stays = rng.choice([0.0, 0.5, 0.9])  # the chance that the one that ran goes on

    def spawn(self, name: str, owner: object, work: Callable[[], object]) -> Fiber:
        """Let a fiber begin, sooner or later; some are slow."""
        fiber = Fiber(name, owner, work, self._hub, self._rng.choice([0.1, 1.0, 1.0]))
        self._all.append(fiber)
        self._ready.append(fiber)
        return fiber

    def run(self, last: Fiber, most_steps: int) -> bool:
        """Let all go on until one of them is done; return False if it is not after so many steps."""
        fiber = last
        while not last.dead and self.steps < most_steps:
            while self._doomed:
                self._end(self._doomed.pop())
            if self._resting is not None and self._is_rested(*self._resting):
                self._ready.append(self._resting[0])
                self._resting = None
            if fiber not in self._ready or fiber.owner in self.frozen or self._rng.random() >= self._stays:
                fiber = self._next()
            self.steps += 1
            self._ready.remove(fiber)
            fiber.switch()
            if fiber.dead:
                self._all.remove(fiber)
        return last.dead

    def _next(self) -> Fiber:
        ready, asleep = self._ready, self._asleep
        if self.frozen:
            ready, asleep = ([fiber for fiber in each if fiber.owner not in self.frozen] for each in (ready, asleep))
        if asleep and (not ready or self._rng.random() < WAKE_UP):
            fiber = self._rng.choice(asleep)
            self.now = max(self.now, fiber.deadline)
            self.wake(fiber)
            return fiber
        assert ready, "nobody can go on"
        return self._rng.choices(ready, [fiber.pace for fiber in ready])[0]

    def pause(self, why: str) -> None:
        """Let others go on; called by a fiber."""
        self.say(why)
        self._ready.append(running())
        self._hub.switch()

    def rest(self, steps: int, until: Fiber | None = None) -> None:
        """Let others take so many steps, unless one of them ends before; called by one fiber only."""
        self._resting = running(), self.steps + steps, until
        self._hub.switch()

    def _is_rested(self, _: Fiber, end: int, until: Fiber | None) -> bool:
        if self.steps >= end or (until is not None and until.dead):
            return True
        return all(fiber.owner in self.frozen for fiber in itertools.chain(self._ready, self._asleep))

    def block(self, timeout: float | None) -> None:
        """Wait until somebody calls :meth:`wake`, or the time is over; called by a fiber."""
        if timeout is not None:
            fiber = running()
            fiber.deadline = self.now + timeout
            self._asleep.append(fiber)
        self._hub.switch()

    def wake(self, fiber: Fiber) -> None:
        """Let a fiber go on that waits."""
        if fiber in self._asleep:
            self._asleep.remove(fiber)
        if fiber in self._all and fiber not in self._ready:
            self._ready.append(fiber)

    def kill(self, owner: object) -> None:
        """End all fibers of a process where they are; called by a fiber of another one."""
        self._doomed.append(owner)
        self.pause("kills a process")

    def end(self) -> None:
        """End all fibers where they are; called outside of any."""
        while self._all:
            self._end(self._all[0].owner)

    def _end(self, owner: object) -> None:
        for fiber in [each for each in self._all if each.owner is owner]:
            for waiting in (self._all, self._ready, self._asleep):
                if fiber in waiting:
                    waiting.remove(fiber)
            while not fiber.dead:
                fiber.throw(Killed)

    def say(self, what: str) -> None:
        """Add a line to the trace."""
        fiber = getcurrent()
        self._said.append((self.now, fiber.name if isinstance(fiber, Fiber) else "scheduler", what))

    def trace(self) -> list[str]:
        """Return what was said last, in lines."""
        return [f"{now:9.2f} {name}: {what}" for now, name, what in self._said[-LINES_SHOWN:]]

    def digest(self) -> str:
        """Return a digest of all that was said, the same for equal runs."""
        return hashlib.blake2b(repr(self._said).encode(), digest_size=8).hexdigest()


class Waiters:
    """Fibers that wait for the same thing."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._fibers = scheduler, list[Fiber]()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has come, or the time is over."""
        self._fibers.append(running())
        try:
            self._scheduler.block(timeout)
        finally:
            if running() in self._fibers:
                self._fibers.remove(running())

    def wake(self) -> None:
        """Let all go on."""
        for fiber in self._fibers:
            self._scheduler.wake(fiber)
        self._fibers.clear()


class Event:
    """As in ``threading``."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._is_set, self._waiters = False, Waiters(scheduler)

    def set(self) -> None:
        self._is_set = True
        self._waiters.wake()

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            self._waiters.wait(timeout)
        return self._is_set


class Condition:
    """As in ``threading``; nobody else goes on in the body of a ``with`` unless it waits."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._waiters = Waiters(scheduler)

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    def wait(self, timeout: float | None = None) -> None:
        self._waiters.wait(timeout)

    def notify(self) -> None:
        self._waiters.wake()


class Lock:
    """As in ``threading``, but some do not get it in time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._waiters, self._is_held = scheduler, Waiters(scheduler), False

    def acquire(self, timeout: float) -> bool:
        end = self._scheduler.now + timeout
        while self._is_held and self._scheduler.now < end:
            self._waiters.wait(end - self._scheduler.now)
        if self._is_held:
            return False
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False
        self._waiters.wake()


class Thread:
    """As in ``threading``."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], None], name: str, daemon: bool) -> None:
        self._scheduler, self._target, self._name = scheduler, target, name.removeprefix("heavybandits-")
        self._ended = Event(scheduler)

    def start(self) -> None:
        owner = running().owner
        self._scheduler.spawn(f"{owner} {self._name}", owner, self._run)

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._ended.set()

    def join(self) -> None:
        self._ended.wait()


class Threading:
    """The names of ``threading`` and ``time`` that the service uses."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def Thread(self, *, target: Callable[[], None], name: str, daemon: bool) -> Thread:
        return Thread(self._scheduler, target, name, daemon)

    def Condition(self) -> Condition:
        return Condition(self._scheduler)

    def Event(self) -> Event:
        return Event(self._scheduler)

    def monotonic(self) -> float:
        self._scheduler.now += 0.001  # so that work takes time
        return self._scheduler.now


class Readers(Executor):
    """Runs what it is given in fibers."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        owner = running().owner
        self._scheduler.spawn(f"{owner} reader", owner, lambda: work(*arguments, **named))
        return Future()


def sleep(scheduler: Scheduler, seconds: float) -> None:
    """Let others go on for a while."""
    Waiters(scheduler).wait(seconds)


def join(scheduler: Scheduler, fibers: Iterable[Fiber]) -> None:
    """Wait until fibers are done."""
    for fiber in fibers:
        while not fiber.dead:
            sleep(scheduler, 0.1)
