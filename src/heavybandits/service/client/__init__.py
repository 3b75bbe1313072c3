"""Clients for the decision service: calls are described once, and sent by a client that blocks or one that awaits."""

from .blocking import Client as Client
from .calls import Decision as Decision
from .trouble import ServiceError as ServiceError
