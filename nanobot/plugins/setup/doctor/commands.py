"""`nanobot doctor` and `nanobot config check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option

Json = Annotated[bool, Option(about="Print JSON.")]


def commands() -> list[Command]:
    """The commands."""
    return [
        Command(name="config check", run=check, examples=("nanobot config check",)),
        Command(name="doctor", run=doctor, examples=("nanobot doctor", "nanobot doctor --fix")),
    ]


def check(environ: Mapping[str, str], *, json: Json = False) -> int:
    """Name every mistake in the configuration.

    Ends with 3 if there is one.
    """
    from nanobot.plugins.setup.doctor.shown import checked  # noqa: PLC0415 - most of nanobot

    return checked(environ, json=json)


def doctor(
    environ: Mapping[str, str],
    *,
    fix: Annotated[bool, Option(about="Fix what can be fixed automatically.")] = False,
    store: Annotated[bool, Option(about="Also read every row of the store.")] = False,
    json: Json = False,
) -> int:
    """Check the installation and explain how to fix problems.

    It checks configuration, home and permissions, disk, clock, store, model (one tiny real call),
    sandbox, port, webhooks, and the credentials of each channel. If a gateway runs, it also lists
    what failed there in the last half hour. --fix removes other users' access to the home and its
    secrets, and creates a missing home and workspace. Exits with 1 if something is broken.
    """
    from nanobot.plugins.setup.doctor.shown import examine  # noqa: PLC0415 - most of nanobot

    return examine(environ, fix=fix, store=store, json=json)
