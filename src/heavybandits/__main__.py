"""Entry point of ``python -m heavybandits``, the command-line tool."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the tool; Ctrl-C is handled here too, because importing it takes a moment."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
