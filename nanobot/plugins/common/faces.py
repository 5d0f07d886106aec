"""What people and programs see of a plugin: views of the page, commands, metrics, and where it
takes deliveries. `nanobot.seam.faces` is the import path of all names here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NewType, Protocol, TypeAlias

import msgspec

from nanobot.seam.http import Http as Http
from nanobot.seam.installed import TRANSLATED as TRANSLATED
from nanobot.seam.installed import Interface as Interface
from nanobot.seam.offers import Environment as Environment
from nanobot.seam.plugin import FileReader as FileReader
from nanobot.seam.plugin import Guidance as Guidance
from nanobot.text import Sentence

Place: TypeAlias = Literal[
    "menu", "health", "skills", "memory", "channels", "policy", "run", "step", "palette"
]
"""Where a view is shown; see PageView."""


class PageView(msgspec.Struct, frozen=True, kw_only=True):
    """A view of the page, of one script or of a folder. The page loads a view with its stylesheet
    `NAME.css`, and with the translations of what it says by `t`, in `zh.js`: the default export is
    an object with the Chinese by English text. The title is a text of the plugin (`Plugin.texts`).
    Everybody may read these files, like those of the page itself."""

    title: Sentence
    script: str = ""
    """A JavaScript module whose default export is a function: it gets the page's building blocks
    (`html`, `useState`, `useEffect`, `Head`, `Button`, `Fetched`, `useFetched`, `read`, `change`,
    `t`, `tell` ...) and returns a component."""
    folder: Path | None = None
    """It contains the module `NAME.js`, whose default export is the component, with all that it
    imports; they import the building blocks from "../../kit.js"."""
    name: str = "main"
    icon: str = "info"
    place: Place = "menu"
    """A view of its own in the menu; a button among the results of doctor (Settings, Health); a
    part of Skills or of Policy, in Settings, of Memory or of Channels; a part of the view of each
    run, which gets `run` and `entries`; a part of each step of a run, which gets `run` and `entry`;
    or "Go to" (palette): then it is not a component, but an asynchronous function of the typed text
    and of an AbortSignal, which returns places, each `{ view, what, icon, text, more, seq }`."""
    order: int = 100
    """Its place in the menu, where Chat is 0, Runs 10, Memory 30, Channels 40, Usage 50, Settings
    60."""
    needs: str = ""
    """The operation that a person must be allowed to use; empty: it is for owners."""
    whole: bool = False
    """Its address is `#/NAME` without the name of the plugin, which only plugins of nanobot may
    have."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """How an option of a command is written."""

    about: str
    flags: tuple[str, ...] = ()
    """As in ("--message", "-m"); by default its own name."""
    words: bool = False
    """It takes what is written without a flag, and may have no default."""
    metavar: str = ""
    """What stands for its value in the help."""
    least: float | None = None
    """The smallest number that it accepts."""
    most: float | None = None
    needed: bool = False
    """The command is refused without it, so it has no default."""


def nothing_mistaken(_words: Sequence[str], _paths: Sequence[str]) -> list[str]:
    """The default of `mistaken`: all words are for the leading command."""
    return []


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the command line. `name` may have several words: the last one is the command,
    the others are its groups. `run` gets the environment, and its options by name: these are
    keyword-only parameters, each with a default. Their types are str, int, float, bool, a Literal
    of texts, any of these or None, or list[str] for one that can be repeated; each is annotated
    with an `Option`, or with a `msgspec.Meta` whose description is its help."""

    name: str
    run: Callable[..., Any]
    """Returns the exit code, or None for 0; a NanobotError ends the command with its own exit code.
    The docstring is the help of the command."""
    examples: tuple[str, ...] = ()
    """Command lines."""
    hidden: bool = False
    """No help lists it."""
    leading: tuple[str, ...] = ()
    """Not empty for the one command that gets the words that are no command, also if one of these
    options is before them."""
    mistaken: Callable[[Sequence[str], Sequence[str]], list[str]] = nothing_mistaken
    """Of these words and the commands that there are, what is said to a person who more likely
    mistyped a command; nothing if the words are for the leading one."""


GRADES: Interface[Callable[[Iterable[str]], Mapping[str, str]]] = Interface("grades")
"""The grades of types of channels on the quality scale, by their types; one without a grade is left
out."""


EveryRow = NewType("EveryRow", bool)
"""For `checks`: whether a person asked that every row of the store is read."""


class Distribution(msgspec.Struct, frozen=True):
    """The value of a histogram: how many observations are at most each of `bounds` and above the
    one before, then how many are above the last; and the sum of all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One family of metrics."""

    name: str
    """Without its prefix `nanobot_PLUGIN_`."""
    about: str
    values: Mapping[tuple[tuple[str, str], ...], float | Distribution]
    """By their labels, each as `{"label": "value"}` in order of a tuple of pairs; `()`: no label.
    The values of a histogram are Distributions."""
    kind: Literal["counter", "gauge", "histogram"] = "gauge"
    whole: bool = False
    """The prefix is `nanobot_` alone, which only plugins of nanobot may have."""


class CurrentMetrics(Protocol):
    """The metrics of all plugins that are on."""

    async def collect(self) -> Sequence[Metric]:
        """All families with their full names, as they are now."""


class DeliveryReply(Protocol):
    """What the sender of a delivery is told; `body` becomes JSON."""

    @property
    def status(self) -> int:
        """202: it is kept, and survives any crash. Of 400 and more: it is refused."""

    @property
    def body(self) -> Mapping[str, Any]:
        """What is answered; of a refusal, {"error": {"code": ..., "message": ...}}."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""


class Deliveries(Protocol):
    """Takes what other services deliver with POST, also where the page is off. Everybody may ask
    there: it checks signatures itself."""

    about: str
    """A sentence for the description of the HTTP API."""

    def limit(self, name: str) -> int:
        """The largest body that is read for `name`, the last part of the path, in bytes."""

    async def take(self, name: str, headers: Mapping[str, str], body: bytes) -> DeliveryReply:
        """Take a delivery; `headers` have names in small letters. There may be no such name, which
        must take as long to find out."""
