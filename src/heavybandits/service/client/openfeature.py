"""A provider for OpenFeature that also reports rewards, which OpenFeature's remote evaluation protocol cannot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import FlagEvaluationDetails
    from openfeature.hook import Hook, HookContext, HookHints
    from openfeature.track import TrackingEventDetails
except ModuleNotFoundError as error:
    message = "BanditProvider needs OpenFeature: pip install 'heavybandits[openfeature]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from .blocking import Client
from .calls import Call, log
from .trouble import ServiceError

MOST_DECISIONS = 100_000  # that a provider remembers


class BanditProvider(OFREPProvider):
    """A provider whose ``track(experiment, ...)`` reports the reward of the unit's last decision.

    While the service does not answer, a thread goes on trying for the client's patience.  A reward that it refuses or
    does not take until then is lost, with a warning; one that is still on its way when the process ends, without one.

    Parameters
    ----------
    client
        Reports the rewards; flags are evaluated by the service that it belongs to.
    timeout
        Seconds to wait for a flag, after which OpenFeature returns the default, or for a reward to be taken.

    Examples
    --------
    >>> import heavybandits as hb
    >>> from heavybandits.service.client.openfeature import BanditProvider
    >>> BanditProvider(hb.Client("http://127.0.0.1:1")).get_metadata().name
    'heavybandits'
    """

    def __init__(self, client: Client, *, timeout: float = 1.0) -> None:
        super().__init__(client.url, headers_factory=client.headers.copy, timeout=timeout)
        self._client, self._seconds, self._memory = client, timeout, _Memory()

    def get_metadata(self) -> Any:
        """Return the name of the provider."""
        found = super().get_metadata()
        found.name = "heavybandits"
        return found

    def get_provider_hooks(self) -> list[Hook]:
        """Return what remembers decisions."""
        return [self._memory]

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report the value of the event as the reward of the unit's last decision in the experiment of this name."""
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        decision = self._memory.decisions.get((tracking_event_name, unit))
        value = None if tracking_event_details is None else tracking_event_details.value
        if decision is None or value is None:
            log.warning("a reward of %s is dropped: it needs a value, and a unit that got a flag", tracking_event_name)
            return
        call = self._client.calls.reward(tracking_event_name, decision, value)
        sending = threading.Thread(target=self._send, args=(call,), daemon=True)
        sending.start()
        sending.join(self._seconds)

    def _send(self, call: Call[Any]) -> None:
        try:
            self._client.send(call)
        except ServiceError as error:
            log.warning("a reward is lost: PUT %s: %s", call.path, error)


class _Memory(Hook):
    """The last decision of each experiment and unit."""

    def __init__(self) -> None:
        self.decisions: OrderedDict[tuple[str, str | None], str] = OrderedDict()

    def after(self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: HookHints) -> None:
        decision = details.flag_metadata.get("decision")
        if decision is not None:
            self.decisions[hook_context.flag_key, hook_context.evaluation_context.targeting_key] = str(decision)
            if len(self.decisions) > MOST_DECISIONS:
                self.decisions.popitem(last=False)
