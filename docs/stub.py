"""The public names of the package, and the stub that says where each lives."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from heavybandits.algorithms.registry import all_entries
from heavybandits.world.context_names import contexts
from heavybandits.world.noises import noises

# What the documentation teaches.  Laws and contexts are added from their registries; other policies are reached by
# `hb.make`, or imported from their files.
PUBLIC = {
    "algorithms.registry": "estimators make policies",
    "diagnosis": "diagnose",
    "evaluation": "evaluate",
    "engine.loop": "simulate",
    "evidence.ab_test.analysis": "LogEvidence",
    "evidence.comparison": "compare",
    "evidence.report": "Evidence",
    "online.agent": "Agent",
    "online.linear_agent": "LinearAgent",
    "online.lipschitz_agent": "LipschitzAgent",
    "protocols": "compilable policy",
    "report.page": "write_report",
    "results.result": "Result",
    "results.study_result": "StudyResult",
    "service.client": "Client ServiceError",
    "service.client.asynchronous": "AsyncClient",
    "studies.run": "run_study",
    "studies.store": "load_study",
    "studies.study": "read_study",
    "testing": "check_noise check_policy",
    "world.contexts": "blocks",
    "world.delays": "Batches",
    "world.environments": "env1 env2 env3 instances",
    "world.instances": "Instance",
    "world.linear_instances": "LinearInstance",
    "world.lipschitz_instances": "LipschitzInstance",
    "world.noises": "Noise make_noise noises",
}
HEAD = '''"""The public names of heavybandits and where they live; ``__init__.py`` imports each when it is first used.

Written by ``python docs/generate.py``.
"""
'''
POLICIES = """
    auto auto-mean betting-ucb clipped-sgd-ucb kl-ucb linear-auto linear-auto-mean lipschitz-auto mean-of-medians
    restarting thompson-gaussian tsallis-inf ucb
"""


def public() -> dict[str, list[str]]:
    """Return the public names of each module."""
    found = {module: set(names.split()) for module, names in PUBLIC.items()}
    for name in POLICIES.split():
        entry = all_entries()[name]
        found.setdefault(entry.module.removeprefix("heavybandits."), set()).add(entry.make.__name__)
    found["world.noises"] |= {law.__name__ for law in noises().values()}
    found["world.contexts"] |= {sampler.__name__ for sampler in contexts().values()}
    return {module: in_order(names) for module, names in sorted(found.items())}


def stub() -> str:
    """Return the text of ``__init__.pyi``."""
    names = public()
    imports = []
    for module, group in names.items():
        line = f"from .{module} import {', '.join(group)}"
        lines = [f"from .{module} import (", *(f"    {name}," for name in group), ")"]
        imports += [line] if len(line) <= 120 else lines
    everything = ", ".join(f'"{name}"' for name in in_order(name for group in names.values() for name in group))
    listed = textwrap.fill(f"{everything},", 120, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([HEAD, *imports, "", "__version__: str", "", f"__all__ = [\n{listed}\n]  # fmt: skip\n"])


def in_order(names: Iterable[str]) -> list[str]:
    """Return names as the linter sorts them: in capitals, then classes, then functions."""
    return sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
