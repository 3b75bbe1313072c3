"""``python -m heavybandits`` is the command line tool."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the tool, which takes a moment to import."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
