"""Which addresses a conversation has shown, and which searches carry private words."""

from __future__ import annotations

import json
import time

import msgspec
import pytest

from nanobot.messages import Address, Origin, Role
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.web_tools.exfiltration import is_private, is_shown
from nanobot.plugins.web_tools.fetch import Web, web_fetch_tool
from nanobot.session.entries import Body, Entry, RecallEntry, ToolResultEntry, UserEntry
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict
from tests.tools.browsing import CALL

ADDRESSES = Addresses()
URL = "https://docs.example/guide?page=2"


def entries(*bodies: Body) -> list[Entry]:
    return [Entry(number, "r1", 0.0, body) for number, body in enumerate(bodies)]


def person(text: str, *, tainted: bool = False, origin: Origin = Origin.USER) -> UserEntry:
    return UserEntry(
        text=text,
        address=Address("cli", "direct"),
        sender_id="1",
        role=Role.OWNER,
        sent_at=0.0,
        inbound_id=1,
        origin=origin,
        tainted=tainted,
    )


def result(name: str, text: str, *addresses: str) -> ToolResultEntry:
    return ToolResultEntry(call=1, index=0, name=name, text=text, addresses=addresses)


@pytest.mark.parametrize(
    "text",
    [
        URL,
        f"{URL}.",
        f"({URL})",
        f"**{URL}**",
        f"[the guide]({URL}), please",
        "docs.example/guide?page=2",
        f"请看{URL}。谢谢",
        f"请看{URL}谢谢",
        "HTTPS://DOCS.example/guide?page=2#chapter",
    ],
)
def test_an_address_counts_however_a_person_writes_it(text: str) -> None:
    assert is_shown(URL, entries(person(text)), ADDRESSES)


@pytest.mark.parametrize(
    "text",
    [
        "https://docs.example/guide",
        "https://docs.example/guide?page=21",
        "https://docs.example:444/guide?page=2",
        "https://evil.example/?https://docs.example/guide?page=2",
        "docs.example",
    ],
)
def test_another_address_does_not_count(text: str) -> None:
    assert not is_shown(URL, entries(person(text)), ADDRESSES)


def test_an_address_with_letters_beyond_ascii_counts() -> None:
    assert is_shown("https://xn--bcher-kva.example/", entries(person("bücher.example")), ADDRESSES)


@pytest.mark.parametrize("origin", [Origin.WEBHOOK, Origin.EVENT, Origin.RUN, Origin.HEARTBEAT])
def test_an_address_counts_from_people_alone(origin: Origin) -> None:
    assert not is_shown(URL, entries(person(URL, origin=origin)), ADDRESSES)
    assert not is_shown(URL, entries(person(URL, tainted=True)), ADDRESSES)
    assert not is_shown(URL, entries(result("web_fetch", URL)), ADDRESSES)
    assert is_shown(URL, entries(result("web_search", "", URL)), ADDRESSES)


def test_a_long_text_takes_no_time() -> None:
    began = time.thread_time()
    for text in ("a" * 1_000_000, "." * 1_000_000, "http:" * 200_000, "a." * 500_000):
        assert not is_shown(URL, entries(person(text)), ADDRESSES)
    assert time.thread_time() - began < 2.0


@pytest.mark.parametrize(
    ("query", "private"),
    [
        ("weather in Bern", False),
        ("weather Bern 2026 forecast tomorrow", False),
        ("Hildegard", True),
        ("hildegards", True),
        ("a1b2c3d4", True),
        ("8412345", True),
        ("averyveryveryverylongwordindeed", True),
        ("one two three four five six seven", True),
        ("what the page says about gizmos", False),
        ("东京天气", True),
    ],
)
def test_a_search_is_private_if_its_words_may_be(query: str, *, private: bool) -> None:
    seen = entries(
        person("How is the weather in Bern?"),
        result("web_fetch", "gizmos are what the page is about"),
        result("read_file", "Hildegard came, and the weather was fine"),
        RecallEntry(text="东京 is where she lives"),
    )
    assert is_private(query, seen) is private


async def test_no_name_is_looked_up_before_it_is_decided() -> None:
    looked_up: list[str] = []

    async def look_up(name: str) -> list[str]:
        looked_up.append(name)
        return ["93.184.215.14"]

    registry = ToolRegistry(policy=Policy())
    registry.register(web_fetch_tool(Web(Addresses((), look_up))))
    tainted = msgspec.structs.replace(CALL, tainted=True, entries=entries(person("hello")))
    arguments = json.dumps({"url": "https://secret.evil.example/"})
    decision = await registry.judge("web_fetch", arguments, tainted)
    assert decision.verdict is Verdict.ASK
    assert looked_up == []


@pytest.mark.parametrize(
    "query",
    ["weather tangerin", "weather xxtangerinedreamxx", "weather tange rine dream", "erinedr"],
)
def test_parts_of_a_private_word_are_private(query: str) -> None:
    seen = entries(person("the weather"), result("read_file", "the code is tangerinedream"))
    assert is_private(query, seen)
    assert not is_private("weather in Berlin", seen)
