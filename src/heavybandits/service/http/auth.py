"""Tokens and what they allow.

A token is ``hb_<id>_<secret>``.  The database keeps only the SHA-256 of the secret, 32 random bytes, so reading the
database does not reveal it.  If no tokens exist, a server that only this machine can reach is open to everyone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import Literal, get_args

from ..storage.rows import Token
from ..storage.session import Session

Role = Literal["decide", "read", "admin"]
ROLES: tuple[str, ...] = get_args(Role)
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def new_token(role: str, name: str, now: int) -> tuple[str, Token]:
    """Return a new token, and the row to store for it.

    Examples
    --------
    >>> secret, row = new_token("read", "for the wall", 0)
    >>> Tokens([row]).role_of(f"Bearer {secret}")
    ('read', ...)
    """
    if role not in ROLES:
        raise ValueError(f"token: role must be one of {', '.join(ROLES)}, got {role!r}")
    if not name.isprintable():
        raise ValueError(f"token: name must not contain control characters, got {name!r}")
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return f"hb_{token_id}_{secret}", Token(token_id, _digest(secret), role, name, now, None)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Tokens:
    """The tokens that are valid now.

    Parameters
    ----------
    rows
        All tokens in the database.
    """

    def __init__(self, rows: list[Token]) -> None:
        self.any_made = bool(rows)  # revoked tokens count: a server that had tokens stays closed
        self._valid = {row.id: row for row in rows if row.revoked is None}

    @classmethod
    def read(cls, session: Session) -> Tokens:
        """Read the tokens."""
        return cls(session.tokens())

    def role_of(self, authorization: str | None) -> tuple[str, str] | None:
        """Return the role and the id of the token in a header; None if it is not valid."""
        scheme, _, token = (authorization or "").partition(" ")
        parts = token.strip().split("_", 2)
        if scheme.lower() != "bearer" or len(parts) != 3 or parts[0] != "hb":
            return None
        row = self._valid.get(parts[1])
        stored = row.digest if row is not None else _digest("nobody")
        if not hmac.compare_digest(stored, _digest(parts[2])) or row is None:
            return None
        return row.role, row.id


def allows(role: str, needed: str) -> bool:
    """Return whether a role is enough.

    Examples
    --------
    >>> allows("admin", "decide"), allows("read", "decide")
    (True, False)
    """
    return role in ("admin", needed)


class RateLimit:
    """A limit on requests per second for each token: a bucket that fills evenly and holds one second's requests.

    A request that costs more than the bucket holds, a large batch, needs a full bucket.  It leaves a debt that has to
    be filled up before the next request, so in the long run no token exceeds the rate.

    Examples
    --------
    >>> limit = RateLimit(2.0)
    >>> [limit.take("a", now=now) for now in (0.0, 0.0, 0.0, 0.5)]
    [0.0, 0.0, 0.5, 0.0]
    >>> [limit.take("b", cost=10, now=now) for now in (0.0, 1.0, 5.0)]
    [0.0, 4.0, 0.0]
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str, cost: int = 1, paid: int = 0, now: float | None = None) -> float:
        """Return 0 if a request is within the rate, otherwise after how many seconds it may be.

        What was paid for the request before its cost was known is given back first.
        """
        now = time.monotonic() if now is None else now
        room = max(self.rate, 1.0)
        left, since = self._buckets.get(who, (room, now))
        left = min(room, left + paid + (now - since) * self.rate)
        missing = max(min(cost, room) - left, 0.0)
        self._buckets[who] = (left if missing else left - cost, now)
        return missing / self.rate
