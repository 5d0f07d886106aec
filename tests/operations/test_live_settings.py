"""Settings that take effect while a gateway runs: every key that is declared so does.

What a gateway works by is compared, part by part, with that of one that was started with the
change: a part that kept a copy of its own is found whichever it is."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import FunctionType, MethodType

import msgspec
import pytest

from nanobot import plugins
from nanobot.app.gateway import Gateway
from nanobot.app.gateway_parts import Parts
from nanobot.app.live_settings import LiveSettings
from nanobot.config.loader import Config, load
from nanobot.operations.dispatcher import Dispatcher
from nanobot.plugins.common.keys.declared_keys import Key, keys_of
from nanobot.plugins.configuration.comparing import differing

BASE = """
[agent]
name = "probe"
[providers.probe]
api_base = "http://127.0.0.1:9/v1"
[providers.probe.models.m]
context = 1000
price = { prompt = 1.0, completion = 1.0, cached = 1.0 }
[providers.probe.prices.n]
prompt = 1.0
completion = 1.0
cached = 1.0
[budgets.people.x]
tokens_per_day = 5
[budgets.chats.x]
[budgets.jobs.x]
[budgets.model.x]
[quiet]
quiet_from = "22:00"
quiet_until = "08:00"
[quiet.chats.x]
[quiet.people.x]
"""
SPECIAL = {
    "agent.persona": "concise",
    "agent.model": "probe/m",
    "agent.fallback_models": "probe/n",
    "budgets.zone": "Asia/Tokyo",
    "quiet.zone": "Asia/Tokyo",
    "quiet.quiet_from": "21:00",
    "quiet.quiet_until": "07:00",
    "providers.probe.api_base": "http://127.0.0.1:10/v1",
    "providers.probe.client": "litellm",
    "policy.hosts": "docs.python.org",
    "policy.approvers": "members",
    "skills.disabled": "weather",
}
CLOCKS = {"_offset", "_place"}
"""What is read off a clock or a disk when a part is made: two parts never agree about it for
sure."""
NOT_TYPED = {"policy.rules"}
"""A list of tables is written in the file only; the last test changes it."""

IN_COMMANDS = {"setup", "terminal"}
"""Plugins whose commands read the configuration once, in a process of their own."""
FOLLOWING = "configuration/following.py"
"""Reads each key whose change it hands on."""
COMPOSING = {"Adapters", "ChannelStarter", "LiveSettings", "Parts", "dict"}
"""Those that read it once, while a gateway is put together or a channel is started, and what
plugins are offered."""


def another(key: Key) -> str:
    """A value for the key that it does not have."""
    declared = key.declared
    assert declared is not None, key.name
    if key.name in SPECIAL:
        return SPECIAL[key.name]
    match declared.kind:
        case "boolean":
            return str(not key.value).lower()
        case "choice":
            return next(choice for choice in declared.choices if choice != key.value)
        case "integer" | "number":
            least, most = declared.least or 0, declared.most or 100
            value = (least + most) / 2 if most < 3 else float(int((least + min(most, 1_000)) / 2))
            value = value + 1 if value == key.value else value
            return f"{int(value) if declared.kind == 'integer' else value}"
        case "text" | "secret":
            return "changed"
        case _:
            raise AssertionError(f"{key.name}: put a value into SPECIAL")


def parts(root: object) -> dict[str, str]:
    """All plain values that what `root` reaches works by, by where they are: the shortest way
    there, which is the same in two gateways."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting: deque[tuple[str, object]] = deque([("", root)])
    while waiting:
        path, thing = waiting.popleft()
        if isinstance(thing, str | int | float | bool | None | Path):
            found[path] = repr(thing)
        elif id(thing) not in seen and not isinstance(thing, Config):
            seen.add(id(thing))
            within = [(name, item) for name, item in _within(thing) if name not in CLOCKS]
            waiting += [(f"{path}.{name}", item) for name, item in within]
    return found


def _within(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, Mapping):
        yield from ((f"[{key}]", thing[key]) for key in sorted(thing, key=str))
    elif isinstance(thing, list | tuple):
        yield from ((f"[{number}]", item) for number, item in enumerate(thing))
    elif isinstance(thing, set | frozenset):
        yield "{}", repr(sorted(map(str, thing)))
    elif isinstance(thing, functools.partial):
        yield from (("func", thing.func), ("args", thing.args), ("keywords", thing.keywords))
    elif isinstance(thing, MethodType):
        yield "self", thing.__self__
    elif isinstance(thing, FunctionType):
        free = thing.__code__.co_freevars
        for name, cell in zip(free, thing.__closure__ or (), strict=True):
            yield name, cell.cell_contents
    elif isinstance(thing, LiveSettings):
        # Looked up there when the gateway drains.
        yield from (("config", thing.config), ("drain_seconds", thing.config.drain_seconds))
    elif type(thing).__module__.startswith("nanobot"):
        names = [*getattr(thing, "__struct_fields__", ()), *getattr(thing, "__dict__", ())]
        yield from ((name, getattr(thing, name)) for name in sorted(names))


def holders(root: object) -> set[type]:
    """What holds a whole configuration."""
    found: set[type] = set()
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, str | int | float | Config):
            continue
        seen.add(id(thing))
        inner = [item for _, item in _within(thing)]
        if any(isinstance(item, Config) for item in inner) and not isinstance(thing, FunctionType):
            found.add(type(thing))
        waiting += inner
    return found


@asynccontextmanager
async def opened(gateway: Gateway) -> AsyncIterator[Parts]:
    """Its parts; it does not serve."""
    async with AsyncExitStack() as stack:
        yield await gateway.opened(stack, "a test")


class Homes:
    """A home whose gateway is open, and another that is opened anew after each change."""

    def __init__(self, folder: Path) -> None:
        self.live, self.fresh = folder / "live", folder / "fresh"
        for home in (self.live, self.fresh):
            home.mkdir()
            (home / "config.toml").write_text(BASE)

    def gateway(self, home: Path) -> Gateway:
        environ = {"NANOBOT_HOME": str(home)}
        return Gateway(load(environ), environ)

    async def started(self) -> dict[str, str]:
        """What a gateway works by that is started with the configuration as it is written."""
        written = (self.live / "config.toml").read_text().replace(str(self.live), str(self.fresh))
        (self.fresh / "config.toml").write_text(written)
        for secret in self.live.glob("secrets/*"):
            (self.fresh / "secrets").mkdir(exist_ok=True)
            (self.fresh / "secrets" / secret.name).write_text(secret.read_text())
        async with opened(self.gateway(self.fresh)) as gateway:
            return parts(gateway)


def live_keys(homes: Homes) -> list[Key]:
    """The keys that are declared to apply at once, and can be typed."""
    config = load({"NANOBOT_HOME": str(homes.live)})
    live = [key for key in keys_of(config) if key.applies == "now" and key.name not in NOT_TYPED]
    assert len(live) > 60
    return live


async def test_every_key_that_is_declared_to_apply_at_once_does(tmp_path: Path) -> None:
    """All of them together; the slow test looks at each by itself."""
    homes = Homes(tmp_path)
    async with opened(homes.gateway(homes.live)) as gateway:
        operations = gateway.operations
        before = await homes.started()
        noise = _differing(before, await homes.started())
        for key in live_keys(homes):
            changed = await operations.call("config set", {"key": key.name, "text": another(key)})
            assert changed.applied == [key.name], f"{key.name}: {changed}"
        after, mine = await homes.started(), parts(gateway)
        matter = _differing(before, after) - noise
        assert len(matter) > 60
        assert {place for place in matter if mine.get(place) != after.get(place)} == set()


@pytest.mark.slow
async def test_each_key_that_is_declared_to_apply_at_once_is_known_to_a_part(
    tmp_path: Path,
) -> None:
    homes = Homes(tmp_path)
    async with opened(homes.gateway(homes.live)) as gateway:
        operations = gateway.operations
        before = await homes.started()
        noise = _differing(before, await homes.started())
        for key in live_keys(homes):
            changed = await operations.call("config set", {"key": key.name, "text": another(key)})
            assert changed.applied == [key.name], f"{key.name}: {changed}"
            after = await homes.started()
            matter = _differing(before, after) - noise
            assert matter, f"{key.name} is not known to any part"
            mine = parts(gateway)
            stale = {place for place in matter if mine.get(place) != after.get(place)}
            assert not stale, f"{key.name} stays as it was at {sorted(stale)[:5]}"
            before = after


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {place for place in one.keys() | other if one.get(place) != other.get(place)}


@pytest.mark.process
async def test_nobody_keeps_the_whole_configuration_and_plugins_read_nothing_of_it_that_changes(
    tmp_path: Path,
) -> None:
    homes = Homes(tmp_path)
    async with opened(homes.gateway(homes.live)) as gateway:
        found = holders(gateway)
    assert {each.__name__ for each in found} == COMPOSING
    config = load({"NANOBOT_HOME": str(homes.live)})
    live = [key.name for key in keys_of(config) if key.applies == "now"]
    for file in Path(plugins.__file__).parent.glob("*/*.py"):
        if file.parent.name in IN_COMMANDS or file.match(FOLLOWING):
            continue
        read = [name for name in live if f"config.{name}" in file.read_text("utf-8")]
        assert read == [], file


@pytest.mark.parametrize(
    ("key", "text", "wrong"),
    [
        ("agent.persona", "nobody", "there is no persona"),
        ("budgets.zone", "Mars/Olympus", "budgets.zone"),
        ("quiet.quiet_from", "25:00", "quiet"),
        ("agent.max_tokens", "0", "from 1 up to"),
    ],
)
async def test_what_cannot_be_taken_over_is_refused_and_not_written(
    key: str, text: str, wrong: str, tmp_path: Path
) -> None:
    homes = Homes(tmp_path)
    async with opened(homes.gateway(homes.live)) as gateway:
        operations = gateway.operations
        before = parts(gateway)
        with pytest.raises(Exception, match=wrong):
            await operations.call("config set", {"key": key, "text": text})
        assert _policy(operations) == _policy(operations)
        after = parts(gateway)
        there = [place for place in before.keys() & after if "budgets" in place]
        assert {place: after[place] for place in there if after[place] != before[place]} == {}
        assert len(there) > 20
    assert (homes.live / "config.toml").read_text() == BASE


async def test_a_rule_that_was_written_by_hand_holds_with_the_next_change(tmp_path: Path) -> None:
    homes = Homes(tmp_path)
    async with opened(homes.gateway(homes.live)) as gateway:
        operations = gateway.operations
        assert _policy(operations) == 0
        file = homes.live / "config.toml"
        file.write_text(f'{BASE}\n[[policy.rules]]\nverdict = "deny"\ntool = "exec"\n')
        await operations.call("config set", {"key": "agent.max_tokens", "text": "77"})
        assert _policy(operations) == 1


def _policy(operations: Dispatcher) -> int:
    return len(operations.engine.tools.policy.settings.rules)


def test_a_change_says_for_each_key_when_it_takes_effect(tmp_path: Path) -> None:
    config = load({"NANOBOT_HOME": str(tmp_path)})
    replace = msgspec.structs.replace
    agent = replace(config.agent, max_tokens=7, recall_top_k=7)
    changed = differing(config, replace(config, agent=agent, drain_seconds=1.0))
    assert changed == {
        "agent.max_tokens": "now",
        "agent.recall_top_k": "restart",
        "drain_seconds": "now",
    }
