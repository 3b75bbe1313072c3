"""A compiler that is done when a test says so."""

from collections.abc import Callable
from typing import Any

from heavybandits.jit import compiled
from heavybandits.jit.background_compile import Compilation


class Compiler:
    """A compiler that is done when the test says so; until then, only what the test allows is compiled."""

    def __init__(self) -> None:
        self.done = False
        self.allowed: Callable[[Any], bool] = lambda state: False
        self.begun: list[Compilation] = []

    def compiled_already(self, function: Any, policy: Any, located: Any, *arguments: Any) -> Any:
        state, _ = located
        if self.done or self.allowed(state):
            return compiled.compiled(function, policy, located, *arguments)
        return None

    def begin(self, compilation: Compilation) -> None:
        if compilation not in self.begun:
            self.begun.append(compilation)
        if self.done:
            compilation.code = compilation.run()

    def finish(self) -> None:
        """Be done with all that was begun, and with all that will be asked for."""
        self.done = True
        for compilation in self.begun:
            compilation.code = compilation.run()
