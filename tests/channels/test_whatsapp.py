"""WhatsApp: what Meta delivers is taken once, signed and in order, and what is sent keeps to its
limits, also to the 24 hours after a person's last message."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    ChatGone,
    ConfigError,
    DeliveryError,
    NobodyThere,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreUnwritable,
    Uncertain,
)
from nanobot.messages import Address, Attachment, Choice, InboundMessage, OutboundMessage
from nanobot.ports import MenuCommand, OutboundPart, Reaction
from nanobot.testing.machine import ManualClock
from nanobot_channels.common.settings import Table
from nanobot_channels.whatsapp import WhatsAppChannel, open_channel
from nanobot_channels.whatsapp.parts import content_of, render
from nanobot_channels.whatsapp.settings import settings_of
from tests.channels import discording
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.webhooks import door
from tests.doubles.whatsapp_rules import Refusal, check_message
from tests.doubles.whatsapp_server import ANN, START, WhatsAppServer

BOB = "BR.1502576394655843"
CHAT = Address("whatsapp", ANN)
PART = OutboundPart(text="hello", key="k:0")
YES_NO = (Choice("Yes, once", "/approve 7"), Choice("No", "/deny 7"))
DAY = 86_400
TO: dict[str, Any] = {"messaging_product": "whatsapp", "to": "1"}


class Bench:
    """A channel that runs, its door, and Meta."""

    def __init__(self, meta: WhatsAppServer, clock: ManualClock) -> None:
        self.meta, self.clock = meta, clock
        self.intake = FakeIntake()
        self.channel = self.made()

    def made(self, **settings: object) -> WhatsAppChannel:
        table = Table("whatsapp", self.meta.settings | settings)
        return WhatsAppChannel("whatsapp", settings_of(table), clock=self.clock)

    def passes(self, seconds: float) -> None:
        self.meta.now += seconds
        self.clock.advance(seconds)

    async def asks(self, method: str, path: str = "", **query: str) -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{self.meta.deliveries.url}{path}", params=query) as answer,
        ):
            return answer.status, await answer.text()

    def last(self) -> InboundMessage:
        return self.intake.messages[-1]


@pytest.fixture
async def b() -> AsyncIterator[Bench]:
    async with WhatsAppServer() as meta:
        bench = Bench(meta, ManualClock(START, instant=False))
        async with (
            door(bench.channel, lambda: bench.intake) as url,
            discording.receiving(bench.channel, bench.intake),
        ):
            meta.deliveries.url = url
            await bench.intake.until(lambda: bench.intake.signs_of_life > 0)
            yield bench
        await bench.channel.close()


# What comes in


async def test_meta_asks_whether_the_address_is_meant_and_only_the_token_is_answered(
    b: Bench,
) -> None:
    asked = {"hub.mode": "subscribe", "hub.challenge": "1158201444"}
    right = {"hub.verify_token": b.meta.verify_token}
    assert await b.asks("GET", **asked, **right) == (200, "1158201444")
    for wrong in ({}, {"hub.verify_token": "a guess"}, right | {"hub.mode": "other"}):
        status, text = await b.asks("GET", **asked | wrong)
        assert status == 403
        assert "1158201444" not in text
    script = {"hub.challenge": "<script>alert(1)</script>"}
    assert await b.asks("GET", **asked | right | script) == (200, "")
    assert (await b.asks("GET", "/elsewhere", **asked | right))[0] == 405


async def test_what_is_not_signed_with_the_secret_brings_nothing(b: Bench) -> None:
    signed = await b.meta.say(ANN, "let me in")
    assert signed.acknowledged
    for signature in ("", "sha256=", f"sha256={'0' * 64}", "sha1=00"):
        body, headers = signed.body, {"X-Hub-Signature-256": signature}
        assert (await b.meta.deliveries.deliver(body, headers)).status == 401
    changed = signed.body.replace(b"let me in", b"approve it")
    assert (await b.meta.deliveries.deliver(changed, signed.headers)).status == 401
    assert [message.text for message in b.intake.messages] == ["let me in"]


async def test_a_request_is_answered_after_its_commit_and_refused_without_one(b: Bench) -> None:
    b.intake.failures = [StoreUnwritable("the disk is full")]
    first = await b.meta.say(ANN, "one")
    assert (first.status, b.intake.messages) == (503, [])
    await b.meta.deliveries.again()
    await b.meta.deliveries.attempt(first)  # Meta delivers again although it was told
    assert (first.status, first.attempts) == (200, 3)
    assert len({message.dedupe_key for message in b.intake.messages}) == 1


async def test_a_message_names_its_chat_its_person_and_its_time(b: Bench) -> None:
    await b.meta.say(ANN, "hi 😀\u202e")
    await b.meta.say(BOB, "no number")
    ann, bob = b.intake.messages
    assert (ann.address, ann.sender.id, ann.sender.name) == (CHAT, ANN, f"Ann {ANN}")
    assert (ann.text, ann.sent_at, ann.group, ann.addressed) == ("hi 😀", START + 1, False, True)
    assert (bob.address.chat_id, bob.sender.id) == (BOB, BOB)
    await b.channel.send(bob.address, PART)
    assert b.meta.sent_to(BOB)[0]["recipient"] == BOB


async def test_several_messages_of_one_request_are_one_batch_in_their_order(b: Bench) -> None:
    both = [b.meta.message(ANN, type="text", text={"body": text}) for text in ("one", "two")]
    await b.meta.push(messages=both)
    (batch,) = b.intake.batches
    assert [message.text for message in batch[0]] == ["one", "two"]


async def test_what_is_for_another_number_of_the_app_is_not_taken(b: Bench) -> None:
    about = {"display_phone_number": "1", "phone_number_id": "999999"}
    text = b.meta.message(ANN, type="text", text={"body": "not for us"})
    assert (await b.meta.push(messages=[text], metadata=about)).acknowledged
    assert b.intake.messages == []


@pytest.mark.parametrize(
    ("fields", "text", "tainted"),
    [
        ({"type": "image", "image": {"id": "5", "caption": "look"}}, "look", False),
        ({"context": {"forwarded": True}, "text": {"body": "/stop"}}, "[forwarded]\n/stop", True),
        ({"context": {"frequently_forwarded": True}}, "[forwarded]\nx", True),
        ({"type": "button", "button": {"payload": "yes", "text": "Yes"}}, "yes", False),
        ({"type": "button", "button": {"text": "Yes"}}, "Yes", False),
        (
            {"type": "location", "location": {"latitude": 1.5, "longitude": 2, "name": "A\nB"}},
            "[location: 1.5, 2, A B]",
            False,
        ),
        (
            {
                "type": "contacts",
                "contacts": [{"name": {"formatted_name": "Eve"}, "phones": [{"phone": "+1"}]}],
            },
            "[contact: Eve, +1]",
            True,
        ),
        (
            {
                "type": "order",
                "order": {
                    "catalog_id": "77",
                    "text": "by Friday, please",
                    "product_items": [
                        {
                            "product_retailer_id": "di-5",
                            "quantity": 2,
                            "item_price": 30.5,
                            "currency": "EUR",
                        },
                        {"product_retailer_id": "x\n9", "quantity": "1"},
                    ],
                },
            },
            "[order: 2 of di-5 for 30.5 EUR each; 1 of x 9]\nby Friday, please",
            False,
        ),
        ({"type": "order", "order": {}}, "[order]", False),
        (
            {
                "type": "interactive",
                "interactive": {
                    "type": "nfm_reply",
                    "nfm_reply": {"name": "flow", "body": "Sent", "response_json": '{"day":"Mo"}'},
                },
            },
            '[nfm_reply: flow, Sent, {"day":"Mo"}]',
            False,
        ),
        (
            {
                "type": "interactive",
                "interactive": {
                    "type": "call_permission_reply",
                    "call_permission_reply": {"response": "accept", "is_permanent": True},
                },
            },
            "[call_permission_reply: accept]",
            False,
        ),
        (
            {
                "type": "unsupported",
                "unsupported": {"type": "poll_creation"},
                "errors": [{"code": 131051, "title": "Message type unknown"}],
            },
            "[a message that WhatsApp does not pass on: poll_creation]",
            False,
        ),
        ({"type": "unsupported"}, "[a message that WhatsApp does not pass on]", False),
        ({"type": "hologram", "hologram": {}}, "[a message that cannot be read: hologram]", False),
        (
            {
                "text": {"body": "Is it new?"},
                "context": {"referred_product": {"catalog_id": "77", "product_retailer_id": "di"}},
            },
            "[about the product: di]\nIs it new?",
            False,
        ),
        (
            {
                "text": {"body": "Hello"},
                "referral": {
                    "headline": "Boats",
                    "body": "Half price",
                    "source_url": "https://x.y",
                },
            },
            "[came from the advertisement: Boats, Half price, https://x.y]\nHello",
            False,
        ),
    ],
)
async def test_kinds_of_messages(
    b: Bench, fields: dict[str, Any], text: str, *, tainted: bool
) -> None:
    await b.meta.say(ANN, **{"type": "text", "text": {"body": "x"}} | fields)
    message = b.last()
    assert (message.text, message.tainted) == (text, tainted)


@pytest.mark.parametrize(
    "fields",
    [
        {
            "type": "interactive",
            "interactive": {"type": "nfm_reply", "nfm_reply": {"body": "/stop"}},
        },
        {"type": "order", "order": {"text": "/stop"}},
        {"type": "unsupported", "unsupported": {"type": "/stop"}},
    ],
)
async def test_what_is_said_in_words_is_neither_a_press_nor_a_command(
    b: Bench, fields: dict[str, Any]
) -> None:
    await b.meta.say(ANN, **fields)
    assert (b.last().pressed, b.last().text[:1]) == (False, "[")


@pytest.mark.parametrize("kind", ["image", "audio", "document", "sticker", "video"])
async def test_a_file_without_its_number_is_named_as_missing(b: Bench, kind: str) -> None:
    await b.meta.say(ANN, **{"type": kind, kind: {"mime_type": "a/b", "caption": "look"}})
    (file,) = b.last().attachments
    assert (file.ref, bool(file.error)) == ("", True)


async def test_an_edit_is_a_new_version_of_the_message(b: Bench) -> None:
    await b.meta.say(ANN, "say:one")
    first = b.last()
    inner = {"type": "text", "text": {"body": "say:two"}}
    edit = {"original_message_id": first.message_id, "message": inner}
    await b.meta.say(ANN, type="edit", edit=edit)
    second = b.last()
    assert (second.text, second.edit_of) == ("say:two", first.dedupe_key)
    assert second.dedupe_key != first.dedupe_key
    assert second.message_id == first.message_id


async def test_a_deletion_names_the_message_that_is_gone(b: Bench) -> None:
    await b.meta.say(ANN, "say:one")
    first = b.last()
    await b.meta.say(ANN, type="revoke", revoke={"original_message_id": first.message_id})
    gone = b.last()
    assert (gone.deleted, gone.edit_of) == (True, first.dedupe_key)


async def test_a_pressed_button_and_a_chosen_row_say_their_text(b: Bench) -> None:
    await b.meta.say(ANN, "ask me")
    question = OutboundMessage(address=CHAT, text="May I?", key="q", choices=YES_NO)
    sent = [await b.channel.send(CHAT, part) for part in b.channel.render(question)]
    await b.meta.press(ANN, b.meta.sent_to(ANN)[-1], "Yes, once")
    pressed = b.last()
    assert (pressed.text, pressed.pressed, pressed.reply_to) == ("/approve 7", True, sent[0])
    many = tuple(Choice(f"The long label of the choice {n}", f"/answer 7 {n}") for n in range(5))
    question = OutboundMessage(address=CHAT, text="Which?", key="r", choices=many)
    await b.channel.send(CHAT, b.channel.render(question)[0])
    (section,) = b.meta.sent_to(ANN)[-1]["interactive"]["action"]["sections"]
    assert section["rows"][4]["description"] == "The long label of the choice 4"
    await b.meta.press(ANN, b.meta.sent_to(ANN)[-1], section["rows"][0]["title"])
    assert b.last().text == "/answer 7 0"


async def test_a_reaction_names_what_send_returned_and_one_taken_back_is_none(b: Bench) -> None:
    await b.meta.say(ANN, "hello")
    sent = await b.channel.send(CHAT, PART)
    await b.meta.say(ANN, type="reaction", reaction={"message_id": sent, "emoji": "👍"})
    reaction = b.last()
    assert (reaction.text, reaction.reply_to, reaction.reaction) == ("👍", sent, True)
    await b.meta.say(ANN, type="reaction", reaction={"message_id": sent})
    assert b.last() == reaction


async def test_somebody_with_a_new_number_keeps_their_chat(b: Bench) -> None:
    system = {"type": "user_changed_number", "wa_id": "4915100000009", "body": "changed"}
    await b.meta.say(ANN, type="system", system=system)
    assert b.intake.moves == [(ANN, "4915100000009")]


async def test_whatever_is_signed_is_answered_and_stops_nothing(b: Bench) -> None:
    rng = random.Random(5)
    texts = ["", "x", "wamid.1", ANN, "text", "\u202e" * 9, "9" * 400]
    values: list[Any] = [None, True, -1, 1e308, [], {}, [{}], *texts]

    def odd(depth: int = 4) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(values)
        keys: tuple[str, ...] = (
            "entry",
            "changes",
            "value",
            "messages",
            "statuses",
            "errors",
            "id",
            "type",
            "from",
        )
        keys += ("text", "interactive", "context", "contacts", "image", "metadata", "timestamp")
        return {rng.choice(keys): odd(depth - 1) for _ in range(4)}

    for _ in range(150):
        fields = odd(2)
        named = {"id": "w", "from": ANN, "type": "text"}
        message = named | fields if isinstance(fields, dict) and rng.random() < 0.7 else fields
        assert (await b.meta.push(messages=[message], statuses=[odd(2)])).acknowledged
    assert (await b.meta.push_raw(b"[" * 100_000)).acknowledged
    await b.meta.say(ANN, "still there")
    assert b.last().text == "still there"


# Files


async def test_files_come_with_the_token_from_metas_hosts_alone(b: Bench) -> None:
    sound = b"OggS" * 300
    mime = "audio/ogg; codecs=opus"
    await b.meta.send(ANN, "audio", sound, mime, voice=True)
    (file,) = b.last().attachments
    assert (file.kind, file.mime, file.recorded) == ("audio", "audio/ogg", True)
    assert await b.channel.fetch(file, 2_000) == sound
    with pytest.raises(Refused, match="larger"):
        await b.channel.fetch(file, 1_000)
    for elsewhere in (
        "https://evil.example",
        "http://lookaside.fbsbx.com",
        "https://fbsbx.com.evil",
    ):
        b.meta.file_host = elsewhere
        with pytest.raises(Refused, match="not its own"):
            await b.channel.fetch(file, 2_000)
    b.meta.file_host = ""
    b.meta.fail(file.ref, code=131016, status=500, times=1)
    with pytest.raises(ChannelDown):
        await b.channel.fetch(file, 2_000)
    b.meta.media.clear()
    with pytest.raises(Refused, match="any more"):
        await b.channel.fetch(file, 2_000)


@pytest.mark.parametrize(
    ("kind", "mime", "content", "shown"),
    [
        ("image", "image/png", b"\x89PNG", "image"),
        ("image", "image/webp", b"\x89\xff", ""),
        ("document", "application/pdf", b"%PDF\xff", "document"),
        ("document", "text/x-python", b"print(1)", "document"),
        ("document", "application/zip", b"PK\xff", ""),
        ("voice", "audio/ogg", b"OggS\xff", "audio"),
        ("image", "image/jpeg", b"\xff" * 5_000_001, "document"),
    ],
)
async def test_a_file_is_shown_as_what_whatsapp_takes_it_for(
    b: Bench, kind: str, mime: str, content: bytes, shown: str
) -> None:
    await b.meta.say(ANN, "send it")
    part = OutboundPart(text="", key="f", file=Attachment(kind=kind, name="a.py", mime=mime))
    if not shown:
        with pytest.raises(Refused, match="supported type"):
            await b.channel.send_file(CHAT, part, content)
        return
    if len(content) > 5_000_000:  # the double, as Meta, takes no pictures for documents
        with pytest.raises(DeliveryError):
            await b.channel.send_file(CHAT, part, content + b"\xff" * 100_000_000)
        return
    assert await b.channel.send_file(CHAT, part, content)
    message = b.meta.sent_to(ANN)[-1]
    assert message["type"] == shown
    assert message[shown].get("voice", False) == (kind == "voice")
    assert b.meta.media[message[shown]["id"]][1] == content


# What goes out


def test_whatever_is_rendered_is_accepted() -> None:
    words = " ".join(f"w{number}" for number in range(1_500))
    marks = "**bold** _it_ ~~gone~~ `code` [link](https://example.org/x) \n> quote\n\n" * 60
    for text in ("", "x", words, marks, "# t\n\n|a|b|\n|-|-|\n|1|2|", "```py\nprint(1)\n```"):
        for count in (0, 3, 10, 11):
            choices = tuple(Choice(f"label {'y' * 30} {n}", f"/a {n}") for n in range(count))
            message = OutboundMessage(address=CHAT, text=text, key="k", choices=choices)
            parts = render(message)
            whole = "".join(f"{part.text}{part.payload.decode()}" for part in parts)
            assert all(choice.say in whole for choice in choices)
            for part in parts:
                for plain in (False, True):
                    check_message(posted(part, plain=plain), (), ())


def posted(part: OutboundPart, *, plain: bool) -> dict[str, Any]:
    content = content_of(part, plain=plain, previews=False)
    return TO | content


def test_the_double_refuses_what_meta_refuses() -> None:
    for content in ({"text": {"body": "x" * 4_097}}, {"text": {"body": ""}}, {"text": {"b": 1}}):
        with pytest.raises(Refusal):
            check_message(TO | {"type": "text"} | content, (), ())


def test_markdown_becomes_whatsapps_marks() -> None:
    text = "# Title\n\n**bold** and *it* ~~no~~ `c` [site](https://x.org)\n\n```py\na = 1\n```"
    (part,) = render(OutboundMessage(address=CHAT, text=text, key="k"))
    shown = posted(part, plain=False)["text"]["body"]
    assert shown == "*Title*\n\n*bold* and _it_ ~no~ `c` site (https://x.org)\n\n```a = 1```"


@pytest.mark.parametrize(
    ("fault", "error", "seconds", "scope"),
    [
        ({"code": 131056}, NotSent, 6.0, "chat"),
        ({"code": 130429, "retry_after": 3}, NotSent, 3.0, "bot"),
        ({"code": 80007}, NotSent, None, "bot"),
        ({"code": 131031}, NotSent, 900.0, "bot"),
        ({"code": 190, "status": 401}, NotSent, None, "bot"),
        ({"code": 131016, "status": 500}, NotSent, None, "bot"),
        ({"code": 131000, "status": 500}, OutcomeUnknown, None, ""),
        ({"code": 131026}, ChatGone, None, ""),
        ({"code": 131051}, Refused, None, ""),
        ({"status": 502}, OutcomeUnknown, None, ""),
        ({"status": 200, "body": b"<html>", "drop": ""}, OutcomeUnknown, None, ""),
        ({"drop": "after"}, OutcomeUnknown, None, ""),
    ],
)
async def test_an_error_says_what_became_of_the_message(
    b: Bench, fault: dict[str, Any], error: type[Exception], seconds: float | None, scope: str
) -> None:
    await b.meta.say(ANN, "hello")
    b.meta.fail("messages", **fault)
    with pytest.raises(error) as caught:
        await b.channel.send(CHAT, PART)
    if isinstance(caught.value, NotSent):
        assert (caught.value.retry_after, caught.value.scope) == (seconds, scope)


async def test_after_a_limit_no_call_is_made_before_its_time(b: Bench) -> None:
    await b.meta.say(ANN, "hello")
    fault = b.meta.fail("messages", code=130429, retry_after=30)
    for _ in range(3):
        with pytest.raises(NotSent):
            await b.channel.send(CHAT, PART)
    assert fault.hits == 1


async def test_what_is_in_doubt_is_known_by_its_report_and_else_repeated(b: Bench) -> None:
    await b.meta.say(ANN, "hello")
    b.meta.fail("messages", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await b.channel.send(CHAT, PART)
    since = b.clock.now()
    with pytest.raises(NotSent, match="not reported"):
        await b.channel.find(CHAT, PART, since)
    await b.meta.report(b.meta.sent_to(ANN)[0], "sent")
    assert await b.channel.find(CHAT, PART, since) == b.meta.sent_to(ANN)[0]["id"]
    lost = OutboundPart(text="lost", key="k:1")
    b.clock.set_by(61)
    with pytest.raises(Uncertain):
        await b.channel.find(CHAT, lost, since)


# The 24 hours


async def test_after_24_hours_messages_wait_and_the_person_is_asked_once_to_write(
    b: Bench,
) -> None:
    channel = b.made(template="please_write")
    b.meta.templates = {"please_write"}
    async with (
        door(channel, lambda: b.intake) as url,
        discording.receiving(channel, b.intake),
    ):
        b.meta.deliveries.url = url
        await b.meta.say(ANN, "hello")
        assert await channel.send(CHAT, PART)
        b.passes(DAY)
        for _ in range(2):
            with pytest.raises(NobodyThere, match="until they write again"):
                await channel.send(CHAT, PART)
        asked = [message for message in b.meta.messages if message["type"] == "template"]
        assert [message["template"]["name"] for message in asked] == ["please_write"]
        await b.meta.say(ANN, "here I am")
        assert await channel.send(CHAT, PART)
    await channel.close()


async def test_a_restart_forgets_nothing_of_the_24_hours(b: Bench) -> None:
    await b.meta.say(ANN, "hello")
    b.passes(DAY / 2)
    await b.meta.say(BOB, "hello")
    b.passes(DAY / 2)
    channel, intake = b.made(), FakeIntake(b.intake.stored)
    async with discording.receiving(channel, intake):
        await intake.until(lambda: intake.signs_of_life > 0)
        with pytest.raises(NobodyThere):
            await channel.send(CHAT, PART)
        assert await channel.send(Address("whatsapp", BOB), PART)
        with pytest.raises(NobodyThere):  # nobody of that number wrote in the last 24 hours
            await channel.send(Address("whatsapp", "4915100000003"), PART)
    await channel.close()


@pytest.mark.parametrize("window", ["later", "at once"])
async def test_what_whatsapp_says_of_the_24_hours_is_believed(b: Bench, window: str) -> None:
    """A chat of which nothing is known is tried."""
    b.meta.window = window
    if window == "later":
        assert await b.channel.send(CHAT, PART)
        await b.meta.report(b.meta.lost[0], "failed", 131047)
    for _ in range(2):
        with pytest.raises(NobodyThere):
            await b.channel.send(CHAT, PART)
    await b.meta.say(ANN, "now I write")
    assert await b.channel.send(CHAT, PART)


async def test_the_window_of_a_chat_that_another_process_heard_is_known(b: Bench) -> None:
    """It writes down when somebody wrote; a request may arrive at any process."""
    elsewhere = b.made()
    await b.meta.say(ANN, "hello")
    b.passes(DAY)
    async with door(elsewhere, lambda: b.intake) as url:
        b.meta.deliveries.url = url
        await b.meta.say(ANN, "to the other process")
    assert await b.channel.send(CHAT, PART)
    await elsewhere.close()


# The rest


async def test_typing_marks_the_last_message_as_read_once_in_a_while(b: Bench) -> None:
    await b.channel.typing(CHAT)
    await b.meta.say(ANN, "hello")
    for _ in range(3):
        await b.channel.typing(CHAT)
    (read,) = b.meta.read
    assert read["message_id"] == b.last().message_id
    assert read["typing_indicator"] == {"type": "text"}
    b.clock.advance(21)
    await b.channel.typing(CHAT)
    assert len(b.meta.read) == 2


async def test_a_message_gets_a_mark(b: Bench) -> None:
    await b.meta.say(ANN, "hello")
    message_id = b.last().message_id
    await b.channel.react(CHAT, message_id, Reaction.DONE)
    assert b.meta.sent_to(ANN)[-1]["reaction"] == {"message_id": message_id, "emoji": "✅"}


async def test_the_menu_shows_the_commands(b: Bench) -> None:
    await b.channel.register([MenuCommand("stop", "Stop the answer.")])
    assert b.meta.commands == [{"command_name": "stop", "command_description": "Stop the answer."}]


async def test_a_wrong_token_ends_the_channel_with_the_remedy(b: Bench) -> None:
    for wrong in ({"access_token": "EAA" + "z" * 40}, {"phone_number_id": "12345"}):
        channel = b.made(**wrong)
        with pytest.raises(BadCredentials, match=f"channels.whatsapp.{next(iter(wrong))}"):
            await channel.run(FakeIntake())
        await channel.close()
    channel = b.made(api_root="http://127.0.0.1:9")
    with pytest.raises(ChannelDown):
        await channel.run(FakeIntake())
    await channel.close()


async def test_the_try_says_what_keeps_messages_from_coming(b: Bench) -> None:
    assert "web.public_url" in (await b.channel.check()).lacking
    url = "https://bot.example.org/channels/whatsapp"
    b.channel.reached_at(url)
    checked = await b.channel.check()
    assert (checked.who, checked.lacking) == ("+1 555-078-3881, Bot", "")
    assert url in checked.todo
    fields = [{"name": "messages", "version": "v24.0"}]
    hook = {"object": "whatsapp_business_account", "active": True, "fields": fields}
    b.meta.hooks = [hook | {"callback_url": "https://else.where/"}]
    assert url in (await b.channel.check()).todo
    b.meta.hooks = [hook | {"callback_url": url}]
    checked = await b.channel.check()
    assert (checked.lacking, checked.todo) == ("", "")
    channel = b.made(app_secret="f" * 32)
    channel.reached_at(url)
    assert "channels.whatsapp.app_secret" in (await channel.check()).lacking
    await channel.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("phone_number_id", "+49 151"),
        ("access_token", ""),
        ("app_secret", "not hexadecimal"),
        ("verify_token", "short"),
        ("template", "Not A Name"),
        ("api_version", "24"),
        ("receipts", "yes"),
    ],
)
def test_settings_that_cannot_work_name_the_key(key: str, value: object) -> None:
    good = {"phone_number_id": "106540352242922", "access_token": "E" * 30}
    good |= {"app_secret": "0" * 32, "verify_token": "0123456789ab"}
    open_channel("whatsapp", good)
    with pytest.raises(ConfigError, match=f"channels.whatsapp.{key} "):
        open_channel("whatsapp", good | {key: value})
