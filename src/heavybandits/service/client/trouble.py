"""What a client does when the service does not answer: it tries again, and stops asking for a while."""

from __future__ import annotations

import random
import threading
import time

PASSING = (429, 502, 503, 504)  # statuses of temporary problems
BREAK_AFTER = 5  # failures in a row
BREAK_SECONDS = 5.0  # between two attempts while the service does not answer
_draws = random.Random()  # of its own: whoever seeds the global generator expects nobody else to draw from it


class ServiceError(Exception):
    """The service refused a request, could not be reached in time, or gave an answer that cannot be understood.

    ``status`` is 0 unless the service refused; ``temporary`` says whether the same request may succeed later.

    Examples
    --------
    >>> import heavybandits as hb
    >>> try:
    ...     hb.Client("http://127.0.0.1:1", patience=0).report("checkout")
    ... except hb.ServiceError as error:
    ...     print(error.status, error.temporary)
    0 True
    """

    def __init__(self, status: int, message: str, *, temporary: bool = False) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status, self.temporary = status, temporary or status in PASSING


class Retries:
    """The pauses between attempts, which double up to two seconds.

    Examples
    --------
    >>> Retries(0.0).pause_after(ServiceError(503, "try again"))
    Traceback (most recent call last):
        ...
    heavybandits.service.client.trouble.ServiceError: 503: try again
    """

    def __init__(self, seconds: float) -> None:
        self._end, self._pause = time.monotonic() + seconds, 0.05

    def pause_after(self, error: ServiceError) -> float:
        """Return how long to wait before the next attempt; raise the error if there should be none."""
        if not error.temporary or time.monotonic() + self._pause > self._end:
            raise error
        pause, self._pause = self._pause, min(2.0 * self._pause, 2.0)
        return pause * _draws.uniform(0.5, 1.0)


class Breaker:
    """A circuit breaker: after five failures in a row, one request every five seconds, until the service answers.

    Examples
    --------
    >>> breaker = Breaker()
    >>> for _ in range(5):
    ...     breaker.note(False, now=100.0)
    >>> [breaker.is_open(now) for now in (104.0, 105.0, 106.0)]
    [True, False, True]
    >>> breaker.note(True, now=107.0)
    >>> breaker.is_open(107.0)
    False
    """

    def __init__(self) -> None:
        self._lock, self._failures, self._next = threading.Lock(), 0, 0.0
        self.said: int | None = None  # the status of the failure that was logged last

    def is_open(self, now: float) -> bool:
        """Return whether to send nothing now; if not, the caller must send something."""
        with self._lock:
            if self._failures < BREAK_AFTER:
                return False
            if now < self._next:
                return True
            self._next = now + BREAK_SECONDS
            return False

    def note(self, answered: bool, now: float) -> None:
        """Take note of whether the service answered."""
        with self._lock:
            self._failures = 0 if answered else self._failures + 1
            self._next = now + BREAK_SECONDS
