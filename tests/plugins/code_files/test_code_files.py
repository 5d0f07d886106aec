"""Long code is a file, with its first lines in the answer; no character of it is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from nanobot.errors import NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.code_files.cutting import SHOWN_CHARACTERS, SHOWN_LINES, with_code_files
from nanobot.ports import Capabilities
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.platform import FakeChannel, FakePlatform
from tests.channels.hostile import hostile

LIMIT = 4_000
CHAT = Address("fake", "1")
CODE = "".join(f"print({number})  # some words\n" for number in range(400))
EXCERPT = "".join(CODE.splitlines(keepends=True)[:SHOWN_LINES])


def answer(code: str = CODE, language: str = "python") -> str:
    return f"Here it is:\n\n```{language}\n{code}```\n\nRun it."


def test_the_text_keeps_the_beginning_and_the_file_has_all() -> None:
    text, (file,) = with_code_files(answer(), LIMIT)
    assert text == (
        f"Here it is:\n\n```python\n{EXCERPT}```\n\n"
        "*... the beginning of 400 lines: all of it is in the file* `code.py`\n\nRun it."
    )
    assert (file.name, file.text) == ("code.py", CODE)


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("", "code.txt"),
        ("rust", "code.rs"),
        ("C++ hl_lines=3", "code.cpp"),
        ("bash", "code.sh"),
        ("json", "code.json"),
        ("../../etc/passwd", "code.txt"),
        ("brainfuck", "code.txt"),
    ],
)
def test_the_file_is_called_as_files_of_its_language_are(language: str, name: str) -> None:
    assert with_code_files(answer(language=language), LIMIT)[1][0].name == name


def test_short_code_and_long_texts_stay_as_they_are() -> None:
    for text in (answer("print(1)\n"), "word " * 2_000, answer("x\n") + "words " * 2_000, CODE):
        assert with_code_files(text, LIMIT) == (text, ())


def test_each_long_block_is_a_file_wherever_it_stands() -> None:
    indented = "".join(f"    {line}" for line in CODE.splitlines(keepends=True))
    quoted = "".join(f"> {line}" for line in CODE.splitlines(keepends=True))
    text = (
        f"1. first\n\n    ~~~sql\n{indented}    ~~~\n\n"
        f"> ```go\n{quoted}> ```\n\nshort:\n```\nx\n```\n\n```\n{CODE}"
    )
    shown, files = with_code_files(text, LIMIT)
    assert [(file.name, file.text) for file in files] == [
        ("code-1.sql", CODE),
        ("code-2.go", CODE),
        ("code-3.txt", CODE),
    ]
    assert with_code_files(shown, LIMIT) == (shown, ())
    for number in (1, 2, 3):
        assert f"`code-{number}." in shown
    assert "\n    print(0)" in shown
    assert "\n> print(0)" in shown


def test_one_endless_line_is_cut_too() -> None:
    shown, (file,) = with_code_files(answer("x" * 100_000 + "\n"), LIMIT)
    assert len(shown) < SHOWN_CHARACTERS + 200
    assert len(file.text) == 100_001


def test_any_ends_of_lines_are_heeded() -> None:
    text, (file,) = with_code_files("a\rb\r\n" + answer().replace("\n", "\r\n"), LIMIT)
    assert file.text == CODE
    assert text.startswith("a\nb\nHere it is:")
    assert text.endswith("\n\nRun it.")


@pytest.mark.parametrize(("name", "text"), hostile(30_000).items())
def test_hostile_texts_keep_all_their_characters(name: str, text: str) -> None:
    shown, files = with_code_files(f"{text}\n\n{answer()}", LIMIT)
    whole = shown + "".join(file.text for file in files)
    assert CODE in whole, name
    assert sum(map(len, (file.text for file in files))) + len(shown) >= len(text), name


async def owe(bot: FakeGateway, text: str) -> None:
    message = OutboundMessage(address=CHAT, text=text, key="k", kind=OutboundKind.POST)
    await bot.journal.post("fake:1", message)
    bot.bus.owed(CHAT)
    await bot.settle()


async def test_the_file_follows_the_text(platform: FakePlatform) -> None:
    async with gateway(channel=platform) as bot:
        await owe(bot, answer())
    assert platform.sent[0].text.endswith("Run it.")
    assert [(file.file.name, file.content) for file in platform.files] == [
        ("code.py", CODE.encode())
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FakeChannel(limit=100_000),
        lambda: FakePlatform(limit=100_000, capabilities=Capabilities(code_limit=0)),
    ],
    ids=["no files there", "not wanted there"],
)
async def test_elsewhere_code_stays_where_it_is(make: Callable[[], FakeChannel]) -> None:
    platform = make()
    async with gateway(channel=platform) as bot:
        await owe(bot, answer())
    assert [message.text for message in platform.sent] == [answer()]


async def test_where_the_file_is_refused_the_code_is_text_after_all() -> None:
    platform = FakePlatform(limit=5_000)
    async with gateway(channel=platform) as bot:
        platform.failures["1"] = deque([None])
        platform.fail(Refused("the bot may not attach files"))
        await owe(bot, answer())
        await platform.until(lambda: len(platform.sent) > 2)
    assert CODE in "".join(message.text for message in platform.sent[1:])
    assert platform.files == []


async def test_what_stands_of_it_is_not_repeated() -> None:
    platform = FakePlatform(limit=5_000)
    async with gateway(channel=platform) as bot:
        refused, lost = Refused("no files"), NotSent("busy")
        platform.failures["1"] = deque([None])
        platform.fail(refused)
        platform.failures["1"].append(None)
        platform.fail(lost, lost)
        await owe(bot, answer())
        await platform.until(lambda: len(platform.sent) > 2)
        await bot.settle()
    _, begun, rest = platform.sent
    assert begun.text.startswith("`code.py`")
    assert CODE in begun.text + rest.text
    assert platform.files == []


@pytest.mark.parametrize("after", [False, True])
async def test_a_killed_process_leaves_the_file_to_the_next_once(*, after: bool) -> None:
    home = MemoryHome()
    platform = FakePlatform(capabilities=Capabilities(reconciles=True))
    async with gateway(channel=platform, home=home) as bot:
        platform.failures["1"] = deque([None])
        platform.fail(OutcomeUnknown("killed"), applied=after)
        message = OutboundMessage(address=CHAT, text=answer(), key="k", kind=OutboundKind.POST)
        await bot.journal.post("fake:1", message)
        bot.bus.owed(CHAT)
        await platform.until(lambda: len(platform.attempts) > 1)
    again = FakePlatform(capabilities=Capabilities(reconciles=True))
    again.sent = list(platform.sent)
    async with gateway(channel=again, home=home) as bot:
        await bot.settle()
    assert len([message for message in again.sent if message.key == "k:1"]) == 1
    assert len([message for message in again.sent if message.key == "k:0"]) == 1
