"""Where promised import paths lead: no module has these paths, only a `.pyi` for type checkers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from warnings import warn

PROMISED = {
    "nanobot.agent.library.context_builder": "nanobot.plugins.library.context_builder",
    "nanobot.agent.library.sessions": "nanobot.plugins.library.sessions",
    "nanobot.agent.library.subagents": "nanobot.plugins.tasks.subagents",
    "nanobot.agent.loop": "nanobot.plugins.library.agent_loop",
    "nanobot.agent.recorded": "nanobot.plugins.common.runs.recorded",
    "nanobot.agent.service.programs": "nanobot.plugins.common.runs.programs",
    "nanobot.agent.service.run_input": "nanobot.plugins.common.runs.run_input",
    "nanobot.agent.service.run_service": "nanobot.plugins.common.runs.run_service",
    "nanobot.agent.tasks.types": "nanobot.plugins.common.runs.run_types",
    "nanobot.api": "nanobot.plugins.library.api",
    "nanobot.bus.events": "nanobot.messages",
    "nanobot.bus.queue": "nanobot.plugins.library.message_bus",
    "nanobot.operations.exposures": "nanobot.plugins.common.exposures",
    "nanobot.operations.remarks": "nanobot.plugins.common.views.remarks",
    "nanobot.operations.spending": "nanobot.plugins.common.models.spending",
    "nanobot.providers.embedding": "nanobot.plugins.common.models.embedding",
    "nanobot.providers.litellm_provider": "nanobot.plugins.litellm.provider",
    "nanobot.seam.faces": "nanobot.plugins.common.faces",
    "nanobot.search.conversations": "nanobot.plugins.common.message_search",
    "nanobot.server.access": "nanobot.plugins.common.http.access",
    "nanobot.server.admission": "nanobot.plugins.common.http.admission",
    "nanobot.server.application": "nanobot.plugins.common.http.route",
    "nanobot.server.plugin_routes": "nanobot.plugins.common.http.route_description",
    "nanobot.session.erasing": "nanobot.plugins.common.erasing",
    "nanobot.session.tasks": "nanobot.plugins.common.runs.background_runs",
    "nanobot.store.message_bus": "nanobot.plugins.library.message_bus",
    "nanobot.testing": "nanobot.plugins.kit.public",
    "nanobot.testing.channels": "nanobot.plugins.kit.channels",
    "nanobot.testing.gateway": "nanobot.plugins.kit.gateway",
    "nanobot.testing.machine": "nanobot.plugins.kit.machine",
    "nanobot.testing.memory_home": "nanobot.plugins.kit.memory_home",
    "nanobot.testing.model": "nanobot.plugins.kit.model",
    "nanobot.testing.platform": "nanobot.plugins.kit.platform",
    "nanobot.testing.plugins": "nanobot.plugins.kit.plugins",
    "nanobot.testing.providers": "nanobot.plugins.kit.providers",
    "nanobot.testing.quality": "nanobot.plugins.kit.quality",
    "nanobot.testing.run_types": "nanobot.plugins.kit.run_types",
    "nanobot.testing.tools": "nanobot.plugins.kit.tools",
    "nanobot.testing.triggers": "nanobot.plugins.kit.triggers",
    "nanobot.tools.files": "nanobot.plugins.common.places",
    "nanobot.tools.parsing.job": "nanobot.plugins.common.files.parse_job",
    "nanobot.tools.parsing.kinds": "nanobot.plugins.common.files.file_readers",
    "nanobot.tools.walls": "nanobot.plugins.common.walls",
    "nanobot.triggers.base": "nanobot.plugins.common.jobs.triggers",
    "nanobot.triggers.cron.service": "nanobot.plugins.jobs.timer",
    "nanobot.triggers.service": "nanobot.plugins.common.jobs.service",
    "nanobot.workspace.confinement": "nanobot.plugins.common.files.confinement",
    "nanobot.workspace.labelled_files": "nanobot.plugins.common.file_labels.labelled_files",
    "nanobot.workspace.shown_files": "nanobot.plugins.common.files.shown_files",
    "nanobot.workspace.taint": "nanobot.plugins.common.file_labels.tainted_files",
}
# Documented paths of the first builds, which go with 0.2. Type checkers do not know them.
OUTDATED = {
    "nanobot.cron.service": "nanobot.triggers.cron.service",
    "nanobot.session.manager": "nanobot.plugins.library.sessions",
    "nanobot.tasks.port": "nanobot.session.tasks",
    "nanobot.tasks.types": "nanobot.agent.tasks.types",
}
# What has such paths beneath it, and no folder with modules.
PACKAGES = {
    "nanobot.agent.library",
    "nanobot.agent.service",
    "nanobot.agent.tasks",
    "nanobot.cron",
    "nanobot.server",
    "nanobot.tasks",
    "nanobot.testing",
    "nanobot.tools.parsing",
    "nanobot.triggers",
    "nanobot.triggers.cron",
}


class Promised:
    """Finds the modules of these paths. Each looks up its names in another module, and imports it
    with the first of them."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find only these paths; other finders find the rest."""
        if name not in PROMISED and name not in OUTDATED and name not in PACKAGES:
            return None
        return ModuleSpec(name, self, is_package=name in PACKAGES)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the import system create the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the names of the other one."""
        path = module.__name__
        if path in OUTDATED:
            now = OUTDATED[path]
            warn(f"{path} is now {now}; the old path goes with 0.2", DeprecationWarning, 2)
            sys.modules[path] = import_module(now)
        elif path in PROMISED:
            module.__doc__ = f"The import path of what is in {PROMISED[path]}."
            vars(module)["__getattr__"] = names_of(PROMISED[path], path)
        if path == "nanobot.testing":
            # Its function `gateway` has the name of a module beneath it. Importing this module sets
            # the name once; from here on it is looked up like the others, and is the function.
            import_module("nanobot.testing.gateway")
            del module.gateway


def names_of(module: str, path: str) -> Callable[[str], object]:
    """The `__getattr__` of the module `path`, which has the names of `module`. Without the plugin
    of that one, it raises ImportError."""

    def found(name: str) -> object:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        try:
            there = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            plugin = module.split(".")[2]
            shared = plugin == "common"
            owner = "built-in plugins, which are" if shared else f"plugin {plugin}, which is"
            raise ImportError(f"{path} belongs to the {owner} not there") from None
        if name == "__all__" and not hasattr(there, name):
            return [each for each in vars(there) if not each.startswith("_")]
        try:
            return getattr(there, name)
        except AttributeError:
            raise AttributeError(f"module {path!r} has no attribute {name!r}") from None

    return found
