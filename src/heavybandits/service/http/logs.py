"""The server's own log: a line of JSON per message."""

from __future__ import annotations

import json
import logging
import sys
import threading

from ..events import iso

_USUAL = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """A formatter that writes a record as a line of JSON, with whatever was given as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry = {
            "time": iso(int(record.created * 1e6)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        entry |= {name: value for name, value in record.__dict__.items() if name not in _USUAL}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def write_to_stderr() -> None:
    """Write the service's own messages, and warnings of the service, of libraries and of Python, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("heavybandits").setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook = _log_failed_thread


def _log_failed_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        logging.getLogger("heavybandits.service").error("a thread failed", exc_info=failed.exc_value)
