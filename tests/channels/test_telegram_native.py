"""Rich messages and drafts on Telegram, and their older forms where a server has none."""

from __future__ import annotations

import pytest

from nanobot.errors import FormRefused, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, Attachment, OutboundMessage
from nanobot.ports import MenuCommand, OutboundPart, Reaction
from nanobot_channels.telegram import TelegramChannel
from nanobot_channels.telegram import parts as telegram_parts
from nanobot_channels.telegram.messages import draft_id_of
from nanobot_channels.telegram.parts import payload_of
from nanobot_channels.telegram.rich import rich_html
from tests.channels.conftest import Running
from tests.doubles.telegram_native import REFUSALS
from tests.doubles.telegram_server import TelegramServer

CHAT, GROUP = Address("telegram", "1"), Address("telegram", "-5")
TABLE = "## Hosts\n\n| Host | State |\n|---|--:|\n| nas | **ok** |\n\n- [x] backup\n- [ ] restore"
SHOWN = "Hosts\nHost | State\nnas | ok\n[x] backup\n[ ] restore"
OLDER = "Hosts\n\nHost | State\n-----+------\nnas  | ok\n\n• [x] backup\n• [ ] restore"


def part(channel: TelegramChannel, text: str, address: Address = CHAT) -> OutboundPart:
    (rendered,) = channel.render(OutboundMessage(address=address, text=text, key="k"))
    return rendered


def render(channel: TelegramChannel, text: str, address: Address) -> list[OutboundPart]:
    return channel.render(OutboundMessage(address=address, text=text, key="k"))


def html(text: str) -> str:
    return rich_html(text, 4096)


# Rich messages


async def test_what_entities_cannot_show_is_a_rich_message(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    message_id = await channel.send(CHAT, part(channel, TABLE))
    received = await telegram.reply_in(1)
    assert (str(received.message_id), received.text) == (message_id, SHOWN)
    await channel.send(CHAT, part(channel, "**bold**, `code` and a [link](https://x.org)"))
    assert [call.method for call in telegram.calls][-2:] == ["sendRichMessage", "sendMessage"]


async def test_nine_thousand_characters_are_one_message(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    text = "\n\n".join(["some words of an answer " * 20] * 19)
    await channel.send(CHAT, part(channel, text))
    (message,) = telegram.messages(1)
    assert message.text.split() == text.split()


async def test_a_server_without_rich_messages_costs_one_try_a_chat(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.native.off = True
    telegram.say(1, "hi")
    for _ in range(3):
        await channel.send(CHAT, part(channel, TABLE))
    assert [message.text for message in telegram.messages(1)] == [OLDER] * 3
    assert len(telegram.calls_of("sendRichMessage")) == 1
    for long in render(channel, "word " * 1_800, CHAT):
        await channel.send(CHAT, long)
    assert " ".join(m.text for m in telegram.messages(1)[3:]).split() == ["word"] * 1_800


async def test_one_text_that_is_refused_comes_in_the_older_form_and_the_next_is_tried_again(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    why = "Bad Request: RICH_MESSAGE_TOO_DEEP"
    telegram.fail("sendRichMessage", times=1, status=400, description=why)
    for _ in range(2):
        await channel.send(CHAT, part(channel, TABLE))
    assert [message.text for message in telegram.messages(1)] == [OLDER, SHOWN]


async def test_a_rich_message_of_unknown_fate_is_not_sent_in_another_form(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendRichMessage", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await channel.send(CHAT, part(channel, TABLE))
    telegram.fail("sendRichMessage", times=1, status=429, retry_after=3)
    with pytest.raises(NotSent):
        await channel.send(CHAT, part(channel, TABLE))
    assert len(telegram.messages(1)) == 1


@pytest.mark.parametrize("off", [True, False], ids=["method", "text"])
async def test_a_refused_rich_message_comes_with_the_messages_that_it_is_without(
    telegram: TelegramServer, channel: TelegramChannel, *, off: bool
) -> None:
    """Each is recorded on its own, so that nothing of it comes again after a crash."""
    telegram.native.off = off
    if not off:
        telegram.fail("sendRichMessage", status=400, description="RICH_TOO_DEEP")
    telegram.say(1, "hi")
    words = "word " * 1_800
    long = part(channel, words)
    with pytest.raises(FormRefused):
        await channel.send(CHAT, long)
    with pytest.raises(FormRefused) as refused:
        await channel.send(CHAT, long)
    assert len(telegram.calls_of("sendRichMessage")) == (1 if off else 2)
    assert telegram.messages(1) == []
    for older in refused.value.instead:
        await channel.send(CHAT, older)
    texts = [message.text for message in telegram.messages(1)]
    assert len(texts) == 3
    assert " ".join(texts).split() == words.split()


async def test_pieces_that_stand_there_are_not_sent_again_unmarked(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMessage", times=1, status=500)
    long = part(channel, "word " * 1_800)
    with pytest.raises(NotSent):
        await channel.send(CHAT, long, plain=True)
    assert telegram.messages(1) == []
    await channel.send(CHAT, long, plain=True)
    assert len(telegram.messages(1)) == 3
    telegram.fail("sendMessage", skip=1, times=1, status=500)
    with pytest.raises(OutcomeUnknown):
        await channel.send(CHAT, long, plain=True)
    assert len(telegram.messages(1)) == 4


async def test_a_preview_in_a_group_becomes_a_rich_message(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(-5, "hi")
    message_id = await channel.send(GROUP, part(channel, "Hosts", GROUP))
    await channel.edit(GROUP, message_id, part(channel, TABLE, GROUP))
    telegram.native.off = True
    (message,) = telegram.messages(-5)
    assert (message.history, message.text) == (["Hosts"], SHOWN)
    await channel.edit(GROUP, message_id, part(channel, f"{TABLE}\n- [ ] more", GROUP))
    assert message.text == f"{OLDER}\n• [ ] more"
    assert len(render(channel, "word " * 1_800, GROUP)) == 3


async def test_a_preview_whose_chat_turns_out_to_take_nothing_rich_is_rendered_anew(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.native.off = True
    telegram.say(-5, "hi")
    message_id = await channel.send(GROUP, part(channel, "word word", GROUP))
    (long,) = render(channel, "word " * 1_800, GROUP)
    with pytest.raises(FormRefused):
        await channel.edit(GROUP, message_id, long)
    first, *_ = render(channel, "word " * 1_800, GROUP)
    await channel.edit(GROUP, message_id, first)
    assert len(telegram.calls_of("editMessageText")) == 2
    assert len(telegram.messages(-5)) == 1


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("Energy is \\(E = mc^2 < 3\\).", "<tg-math>E = mc^2 &lt; 3</tg-math>"),
        ("$$\\frac{1}{2}$$", "<tg-math-block>\\frac{1}{2}</tg-math-block>"),
        ("# A <b>", "<h1>A &lt;b&gt;</h1>"),
        ("# A\n\n![see](https://evil.example/?q=1)", '<a href="https://evil.example/?q=1">see</a>'),
        ("# A\n\n[run](file:///etc)", "[run](file:///etc)"),
        ("# A\n\n[page](docs/a.md)", "page (docs/a.md)"),
        ("# A\n\n[a friend](tg://user?id=1)", "a friend (tg://user?id=1)"),
        ("- [ ] **a**", '<li><input type="checkbox"/><strong>a</strong></li>'),
    ],
)
def test_rich_html_is_ours_alone(text: str, shows: str) -> None:
    assert shows in html(text)
    assert TelegramServer().native.text_of({"rich_message": {"html": html(text)}})


@pytest.mark.parametrize(
    "text",
    [
        "plain **bold** `code` > 1 and $5 or $6",
        "- a\n- b",
        "word " * 7_000,
        "# A\n" + "- a\n" * 600,
        "# A\n\n" + "|a" * 30 + "|\n" + "|-" * 30 + "|\n",
        "# A\n\n" + "> " * 20 + "deep",
    ],
    ids=["simple", "list", "too long", "too many blocks", "too many columns", "too deep"],
)
def test_what_is_simple_or_beyond_the_limits_is_no_rich_message(text: str) -> None:
    assert html(text) == ""


# Drafts


async def test_a_draft_is_replaced_under_its_number_and_gone_with_the_message(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    assert channel.drafts(CHAT)
    assert not channel.drafts(GROUP)
    await channel.draft(CHAT, "k", OutboundPart(text=""))
    for text in ("**one**", TABLE):
        await channel.draft(CHAT, "k", part(channel, text))
    draft = telegram.native.draft_in(1)
    assert draft is not None
    assert draft.versions == ["Thinking...", "one", SHOWN]
    assert (draft.draft_id, draft.can_stop) == (draft_id_of("k"), True)
    await channel.send(CHAT, part(channel, TABLE))
    assert telegram.native.draft_in(1) is None
    assert len(telegram.messages(1)) == 1


async def test_where_drafts_are_refused_they_are_tried_once_a_chat(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.native.off = True
    telegram.say(1, "hi")
    with pytest.raises(Refused):
        await channel.draft(CHAT, "k", part(channel, TABLE))
    assert not channel.drafts(CHAT)
    assert channel.drafts(Address("telegram", "2"))
    assert len(telegram.calls_of("sendRichMessageDraft")) == 1
    assert len(telegram.calls_of("sendMessageDraft")) == 1


async def test_the_stop_button_is_the_order_to_stop_once_and_not_after_the_answer(
    telegram: TelegramServer, channel: TelegramChannel, running: Running
) -> None:
    telegram.say(1, "hi")
    async with running() as intake:
        await intake.received(1)
        await channel.draft(CHAT, "k", OutboundPart(text=""))
        update = telegram.native.stop(1)
        stop = (await intake.received(2))[1]
        assert (stop.text, stop.sender.id, stop.address) == ("/stop", "1", CHAT)
        telegram.push(stopped_message_generation=update["stopped_message_generation"])
        again = (await intake.received(3))[2]
        assert again.dedupe_key == stop.dedupe_key
        await channel.send(CHAT, part(channel, "done"))
        telegram.push(stopped_message_generation=update["stopped_message_generation"])
        telegram.say(1, "thanks")
        assert (await intake.received(4))[3].text == "thanks"
    assert (
        "stopped_message_generation" in telegram.calls_of("getUpdates")[0].params["allowed_updates"]
    )


@pytest.mark.parametrize(("status", "body"), REFUSALS)
async def test_however_a_server_says_that_it_lacks_a_method_it_is_asked_once_a_chat(
    telegram: TelegramServer, channel: TelegramChannel, status: int, body: bytes
) -> None:
    telegram.say(1, "hi")
    telegram.say(2, "hi")
    telegram.native.without[1] = (status, body)
    for number in range(2):
        if channel.drafts(CHAT):
            with pytest.raises(Refused):
                await channel.draft(CHAT, f"k{number}", part(channel, TABLE))
        await channel.send(CHAT, part(channel, TABLE))
    assert [message.text for message in telegram.messages(1)] == [OLDER] * 2
    tried = [call.method for call in telegram.calls if call.method != "sendMessage"]
    assert tried == ["sendRichMessageDraft", "sendMessageDraft"]
    other = Address("telegram", "2")
    await channel.send(other, part(channel, TABLE, other))
    assert [message.text for message in telegram.messages(2)] == [SHOWN]


@pytest.mark.parametrize(("status", "body"), REFUSALS)
async def test_what_older_servers_or_emulators_lack_is_done_without_and_not_waited_for(
    telegram: TelegramServer, channel: TelegramChannel, status: int, body: bytes
) -> None:
    """An edit was tried for a day, because the answer reads like that to a wrong token."""
    telegram.say(1, "hi")
    message_id = await channel.send(CHAT, part(channel, "before"))
    for method in ("editMessageText", "sendDocument", "setMessageReaction", "setMyCommands"):
        telegram.fail(method, status=status, body=body)
    with pytest.raises(Refused):
        await channel.edit(CHAT, message_id, part(channel, "after"))
    file = OutboundPart(text="", file=Attachment(kind="document", name="a.bin", ref="x"))
    with pytest.raises(Refused):
        await channel.send_file(CHAT, file, b"content")
    with pytest.raises(Refused):
        await channel.react(CHAT, message_id, Reaction.DONE)
    with pytest.raises(Refused):
        await channel.register([MenuCommand(name="help", help="Help")])
    telegram.fail("sendMessage", times=1, status=404, description="Not Found: method not found")
    with pytest.raises(NotSent):
        await channel.send(CHAT, part(channel, "what cannot be said otherwise"))


async def test_a_draft_whose_text_is_refused_ends_that_draft_only(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    telegram.fail("sendMessageDraft", times=1, status=400, description="Bad Request: too odd")
    with pytest.raises(Refused):
        await channel.draft(CHAT, "k", part(channel, "odd"))
    assert channel.drafts(CHAT)
    await channel.draft(CHAT, "k2", part(channel, "even"))
    draft = telegram.native.draft_in(1)
    assert draft is not None
    assert draft.text == "even"


async def test_a_draft_that_is_gone_is_shown_again_and_the_answer_comes_once(
    telegram: TelegramServer, channel: TelegramChannel
) -> None:
    telegram.say(1, "hi")
    await channel.draft(CHAT, "k", part(channel, "one"))
    telegram.native.expire(1)
    assert telegram.native.draft_in(1) is None
    await channel.draft(CHAT, "k", part(channel, "one two"))
    assert telegram.native.draft_in(1) is not None
    telegram.native.expire(1)
    await channel.send(CHAT, part(channel, "one two three"))
    assert [message.text for message in telegram.messages(1)] == ["one two three"]


WORDS = "All work and no play makes Jack a dull boy. "
ROWS = "\n".join(f"| {number} | {WORDS} |" for number in range(900))
LONG = {
    "paragraphs": "\n\n".join(f"## Part {n}\n\n{WORDS * 40}" for n in range(40)),
    "table": f"| n | words |\n|---|---|\n{ROWS}",
    "list": "\n".join(f"- {number} {WORDS}" for number in range(1_200)),
    "code": "```python\n" + "\n".join(f"print({n})  # {WORDS}" for n in range(1_200)) + "\n```",
    "one line": "x" * 70_000,
    "many blocks": "\n\n".join(f"# {number}" for number in range(1_300)),
}


@pytest.mark.parametrize("name", LONG)
def test_what_is_too_long_for_one_rich_message_is_divided_between_blocks(name: str) -> None:
    text = LONG[name]
    message = OutboundMessage(address=CHAT, text=text, key="k")
    payloads = [payload_of(part) for part in telegram_parts.render(message)]
    assert 1 < len(payloads) <= 2 + max(len(text) // 16_000, text.count("\n") // 200)
    for payload in payloads:
        shown = TelegramServer().native.text_of({"rich_message": {"html": payload.html}})
        assert payload.html
        assert len(shown) <= 32_768
    html = "".join(payload.html for payload in payloads)
    if name == "table":
        assert html.count("<th>") == 2 * len(payloads)
        assert [f"<td>{number}</td>" in html for number in range(900)] == [True] * 900
    if name == "code":
        assert html.count("<pre") == len(payloads)
        assert all(f"print({number})" in html for number in range(1_200))
    if name == "list":
        assert html.count("<li>") == 1_200
    if name == "many blocks":
        assert html.count("<h1>") == 1_300
