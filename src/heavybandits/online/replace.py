"""Files that are replaced whole: a reader sees either the old contents or the new, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield another file beside ``path`` to write to, and move it there once it is written.

    If that fails, the file at ``path`` stays as it was.  Its mode is kept, and a link stays a link.  Only regular files
    are replaced: a pipe or a device is not ours to remove.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes"
    >>> _ = path.write_bytes(b"old")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"new")
    ...     path.read_bytes()
    b'old'
    >>> path.read_bytes()
    b'new'
    """
    target = path.resolve()
    try:
        mode = _mode(target, path)
        temporary, file = _beside(target)
        try:
            with file:
                yield file
                file.flush()
                if mode is not None:
                    os.chmod(temporary, mode)
                os.fsync(file.fileno())  # otherwise a crash of the machine could leave the target empty
                os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        if error.errno is None:  # not of a file, but of whoever makes the contents
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _mode(target: Path, path: Path) -> int | None:
    """Return the mode of the file to be replaced, or None if there is none yet."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"Agent: path must be a regular file or a new one, got {str(path)!r}, which is something else")
    return stat.S_IMODE(mode)


def _beside(target: Path) -> tuple[Path, BinaryIO]:
    """Open an empty file beside the target.

    Its name depends only on the target, so a file that a killed process left behind is used again, and disappears when
    the target is replaced.  If another process is writing to it, and so holds its lock, a random name is used.
    """
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    usual = target.with_name(f".heavybandits-{name}")
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # locked, or moved away, or not ours, or a file system without locks
            file = os.fdopen(os.open(usual, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666), "wb")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.path.samestat(os.fstat(file.fileno()), os.stat(usual)):
                    raise FileNotFoundError(usual)  # it has been moved to the target since
                file.truncate()
                return usual, file
            except BaseException:
                file.close()
                raise
    other = target.with_name(f".heavybandits-{secrets.token_hex(8)}")
    return other, other.open("xb")
