"""Mattermost: posts come once and in order, buttons only as they were made, and what was sent is
found again."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nanobot.errors import (
    BadCredentials,
    ChannelDown,
    ChatGone,
    ConfigError,
    NotSent,
    OutcomeUnknown,
    Refused,
    StoreUnwritable,
    ThreadGone,
)
from nanobot.messages import Address, Attachment, Choice, InboundMessage, OutboundMessage
from nanobot.ports import OutboundPart, Reaction
from nanobot.system import SystemClock
from nanobot_channels.common.settings import Table
from nanobot_channels.mattermost import MattermostChannel, open_channel
from nanobot_channels.mattermost.settings import settings_of
from tests.channels import discording
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.mattermost_server import ANN, EVE, ME, MattermostServer, number
from tests.doubles.webhooks import door

URL = "https://bot.example.org/channels/mattermost"
YES_NO = (Choice("Approve", "/approve 7"), Choice("Deny", "/deny 7"))
PART = OutboundPart(text="hello", key="k:0")


class Bench:
    """A channel that runs, its door, and Mattermost."""

    def __init__(self, server: MattermostServer) -> None:
        self.server = server
        self.intake = FakeIntake()
        self.channel = self.made()
        self.dm = Address("mattermost", server.dm)
        self.town = Address("mattermost", server.town)

    def made(self, **settings: object) -> MattermostChannel:
        table = Table("mattermost", self.server.settings | settings)
        channel = MattermostChannel("mattermost", settings_of(table), clock=SystemClock())
        channel.reached_at(URL)
        return channel

    async def heard(self, count: int) -> InboundMessage:
        return (await self.intake.received(count))[count - 1]


@pytest.fixture
async def b() -> AsyncIterator[Bench]:
    async with MattermostServer() as server:
        bench = Bench(server)
        async with (
            door(bench.channel, lambda: bench.intake) as url,
            discording.receiving(bench.channel, bench.intake),
        ):
            server.deliveries.url = url
            await bench.intake.until(lambda: bench.intake.signs_of_life > 0)
            yield bench
        await bench.channel.close()


# What comes in


async def test_a_direct_message_names_its_chat_its_person_and_its_time(b: Bench) -> None:
    post = await b.server.say(b.server.dm, "hi 😀")
    message = await b.heard(1)
    assert (message.address, message.sender.id, message.sender.name) == (b.dm, ANN, "ann")
    assert (message.text, message.sent_at) == ("hi 😀", post["create_at"] / 1000)
    assert (message.group, message.addressed, message.dedupe_key) == (False, True, post["id"])


async def test_in_a_channel_a_mention_opens_a_thread_in_which_the_bot_is_meant(b: Bench) -> None:
    root = await b.server.say(b.server.town, "@nanobot: what is this?")
    message = await b.heard(1)
    assert (message.text, message.group, message.addressed) == ("what is this?", True, True)
    assert message.address == Address("mattermost", b.server.town, root["id"])
    await b.channel.send(message.address, PART)
    assert b.server.mine(b.server.town)[0]["root_id"] == root["id"]
    await b.server.say(b.server.town, "and on", root_id=root["id"])
    assert (await b.heard(2)).addressed
    await b.server.say(b.server.town, "something else, nanobot@example.org @nanobot2")
    assert not (await b.heard(3)).addressed


async def test_a_thread_in_which_the_bot_wrote_before_is_known_after_a_restart(b: Bench) -> None:
    root = await b.server.say(b.server.town, "@nanobot hi")
    address = (await b.heard(1)).address
    await b.channel.send(address, PART)
    again, intake = b.made(), FakeIntake(b.intake.stored)
    async with discording.receiving(again, intake):
        await intake.until(lambda: intake.signs_of_life > 0)
        await b.server.say(b.server.town, "still me", root_id=root["id"])
        await intake.until(lambda: any(m.text == "still me" for m in intake.messages))
    assert intake.messages[-1].addressed
    await again.close()


async def test_an_edit_is_a_new_version_and_a_change_without_one_is_none(b: Bench) -> None:
    post = await b.server.say(b.server.dm, "say:one")
    await b.server.event("post_edited", {"post": json.dumps(post)}, b.server.dm)
    await b.server.edit(post, "say:two")
    second = await b.heard(2)
    assert (second.text, second.edit_of, second.message_id) == ("say:two", post["id"], post["id"])
    assert second.dedupe_key != post["id"]


async def test_a_deletion_names_the_post_that_is_gone(b: Bench) -> None:
    post = await b.server.say(b.server.dm, "say:one")
    await b.server.take_back(post)
    gone = await b.heard(2)
    assert (gone.deleted, gone.edit_of) == (True, post["id"])


async def test_a_deletion_that_was_missed_is_found_and_no_post(b: Bench) -> None:
    known = await b.server.say(b.server.dm, "say:one")
    await b.heard(1)
    again, intake = b.made(), FakeIntake(b.intake.stored)
    b.server.now += 60
    unknown = await b.server.say(b.server.dm, "say:two", quiet=True)
    for post in (known, unknown):
        await b.server.take_back(post, quiet=True)
    async with discording.receiving(again, intake):
        await intake.until(lambda: len(intake.messages) > 1)
    assert {each.edit_of for each in intake.messages} == {known["id"], unknown["id"]}
    assert all(each.deleted for each in intake.messages)
    await again.close()


async def test_what_bots_integrations_and_the_system_say_is_not_heard(b: Bench) -> None:
    dm = b.server.dm
    await b.server.say(dm, "own", user=ME)
    await b.server.say(dm, "joined", type="system_join_channel")
    await b.server.say(dm, "hook", props={"from_webhook": "true"})
    await b.server.say(dm, "bot", user=EVE, props={"from_bot": "true"})
    await b.server.say(dm, "a person")
    assert (await b.heard(1)).text == "a person"


@pytest.mark.parametrize(
    ("root", "quote"),
    [
        ({"text": "the plan"}, "the plan"),
        (
            {
                "text": "",
                "props": {
                    "from_webhook": "true",
                    "attachments": [
                        {"title": "CPU", "fields": [{"title": "host", "value": "nas"}]},
                        {"fallback": "old form"},
                        5,
                    ],
                },
            },
            "CPU\nhost: nas\nold form",
        ),
    ],
    ids=str,
)
async def test_the_first_mention_in_a_thread_quotes_its_first_post(
    b: Bench, root: dict[str, Any], quote: str
) -> None:
    first = await b.server.say(b.server.town, root.pop("text"), user=EVE, **root)
    await b.server.say(b.server.town, "@nanobot what is that?", root_id=first["id"])
    await b.server.say(b.server.town, "@nanobot and now?", root_id=first["id"])
    await b.heard(2)
    asked, again = b.intake.messages[-2:]
    assert (asked.quote, asked.tainted) == (quote, True)
    assert (again.quote, again.tainted) == ("", False)


async def test_what_a_person_says_of_themselves_is_heard(b: Bench) -> None:
    await b.server.say(b.server.dm, "*waves*", type="me")
    assert (await b.heard(1)).text == "*waves*"


@pytest.mark.parametrize("kind", ["burn_on_read", "custom_voice", "slack_attachment"])
async def test_a_person_learns_that_a_post_of_another_kind_was_not_read(
    b: Bench, kind: str
) -> None:
    await b.server.say(b.server.dm, "", type=kind)
    assert (await b.heard(1)).text == f"[a post of the kind {kind}, which cannot be read]"


async def test_what_was_missed_comes_first_in_the_order_of_time_and_once(b: Bench) -> None:
    edited = await b.server.say(b.server.dm, "first version")
    await b.server.say(b.server.dm, "zero")
    await b.heard(2)
    again, intake = b.made(), FakeIntake(b.intake.stored)
    b.server.now += 60
    await b.server.say(b.server.dm, "one", quiet=True)
    await b.server.say(b.server.town, "@nanobot two", quiet=True)
    await b.server.say(b.server.dm, "three", quiet=True)
    await b.server.edit(edited, "second version", quiet=True)
    async with discording.receiving(again, intake):
        await intake.until(lambda: intake.signs_of_life > 0)
        await b.server.say(b.server.dm, "four")
        await intake.until(lambda: any(m.text == "four" for m in intake.messages))
    # What stands at the cursor and what is said meanwhile may come twice, by the same key.
    messages = list({message.dedupe_key: message for message in intake.messages}.values())
    first, *texts = [message.text for message in messages]
    assert texts == ["one", "two", "three", "second version", "four"]
    assert (first, messages[0].dedupe_key) == ("zero", b.intake.messages[1].dedupe_key)
    assert messages[4].edit_of == edited["id"]
    await again.close()


async def test_what_the_intake_does_not_take_ends_the_run_and_comes_again(b: Bench) -> None:
    again, intake = b.made(), FakeIntake()
    intake.failures = []
    async with discording.receiving(again, intake):
        await intake.until(lambda: intake.signs_of_life > 0)
    intake.failures = [StoreUnwritable("the disk is full")]
    b.server.now += 60
    await b.server.say(b.server.dm, "kept?", quiet=True)
    with pytest.raises(StoreUnwritable):
        await again.run(intake)
    async with discording.receiving(again, intake):
        assert (await intake.received(1))[0].text == "kept?"
    await again.close()


async def test_a_broken_connection_is_an_outage(b: Bench) -> None:
    again = b.made()
    b.server.fail("GET /users", status=502, times=1)
    with pytest.raises(ChannelDown):
        await again.run(FakeIntake())
    await again.close()
    gone = b.made(url="http://127.0.0.1:9")
    with pytest.raises(ChannelDown):
        await gone.run(FakeIntake())
    await gone.close()


async def test_whatever_comes_stops_nothing(b: Bench) -> None:
    rng = random.Random(7)
    values: list[Any] = [None, True, -1, 1e308, [], {}, "", "x", number("ann"), '{"id": 1}']

    def odd(depth: int = 3) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(values)
        keys = ("event", "data", "post", "broadcast", "reaction", "props", "metadata", "files")
        return {rng.choice(keys): odd(depth - 1) for _ in range(4)}

    for _ in range(150):
        fields = odd()
        data = fields if isinstance(fields, dict) else {"post": fields}
        post = {"id": number("p"), "user_id": ANN, "channel_id": b.server.dm} | data
        await b.server.event(rng.choice(["posted", "post_edited", "reaction_added"]), data)
        await b.server.event("posted", {"post": json.dumps(post)})
    await b.server.raw("no JSON")
    await b.server.raw("[" * 50_000)
    await b.server.say(b.server.dm, "still there")
    await b.intake.until(lambda: any(m.text == "still there" for m in b.intake.messages))


# Buttons


async def asked(b: Bench, address: Address) -> dict[str, Any]:
    question = OutboundMessage(address=address, text="May I?", key="q", choices=YES_NO)
    (part,) = b.channel.render(question)
    sent = await b.channel.send(address, part)
    return b.server.posts[sent]


async def test_a_pressed_button_says_its_text_as_whoever_pressed_it(b: Bench) -> None:
    post = await asked(b, b.dm)
    pressed = await b.server.press(post, "Approve")
    message = await b.heard(1)
    assert (pressed.status, pressed.answer) == (200, b"{}")
    assert (message.text, message.pressed, message.reply_to) == ("/approve 7", True, post["id"])
    assert (message.address, message.sender.id, message.group) == (b.dm, ANN, False)
    await b.server.press(post, "Deny", user=EVE)
    assert (await b.heard(2)).sender.id == EVE
    assert b.intake.messages[0].dedupe_key != b.intake.messages[1].dedupe_key


async def test_a_press_in_a_thread_stays_there_and_is_taken_by_any_process(b: Bench) -> None:
    root = await b.server.say(b.server.town, "@nanobot go")
    address = (await b.heard(1)).address
    post = await asked(b, address)
    elsewhere = b.made()  # another process: it does not run, and knows nothing
    async with door(elsewhere, lambda: b.intake) as url:
        b.server.deliveries.url = url
        await b.server.press(post, "Approve")
    message = await b.heard(2)
    assert (message.address.thread_id, message.group) == (root["id"], True)
    await elsewhere.close()


async def test_a_button_that_was_not_made_here_presses_nothing(b: Bench) -> None:
    post = await asked(b, b.dm)
    action = post["props"]["attachments"][0]["actions"][0]
    context = action["integration"]["context"]
    body = {"user_id": ANN, "channel_id": b.server.dm, "post_id": post["id"], "context": context}
    for change in (
        {"context": context | {"say": "/approve 8"}},
        {"context": context | {"chat": b.server.town}},
        {"context": context | {"direct": False}},
        {"context": context | {"key": "0" * 64}},
        {"channel_id": b.server.town},
    ):
        data = json.dumps(body | change).encode()
        assert (await b.server.deliveries.deliver(data, {}, "/press")).status == 401
    odd: list[dict[str, Any]] = [{"user_id": "me"}, {"post_id": 7}, {"context": {}}]
    for broken in (*odd, {"context": None}):
        data = json.dumps(body | broken).encode()
        assert (await b.server.deliveries.deliver(data, {}, "/press")).status == 400
    for path in ("", "/", "/press/more"):
        assert (
            await b.server.deliveries.deliver(json.dumps(body).encode(), {}, path)
        ).status == 404
    assert b.intake.messages == []


async def test_a_press_that_is_not_kept_is_refused(b: Bench) -> None:
    post = await asked(b, b.dm)
    b.intake.failures = [StoreUnwritable("the disk is full")]
    assert (await b.server.press(post, "Approve")).status == 503
    await b.server.deliveries.again()
    assert (await b.heard(1)).text == "/approve 7"


async def test_without_an_address_choices_are_written_out(b: Bench) -> None:
    b.channel.reached_at("")
    assert not b.channel.capabilities.buttons
    question = OutboundMessage(address=b.dm, text="May I?", key="q", choices=YES_NO)
    (part,) = b.channel.render(question)
    assert part.text == "May I?\n\n- Approve: `/approve 7`\n- Deny: `/deny 7`"
    assert "web.public_url" in (await b.channel.check()).lacking
    other = b.made(callback_url="http://10.0.0.2:8765/channels/mattermost")
    other.reached_at("")
    assert other.capabilities.buttons
    assert (await other.check()).lacking == ""
    await other.close()


async def test_where_no_request_can_arrive_there_are_no_buttons(b: Bench) -> None:
    settings = {"url": "https://x.org", "token": "t" * 26, "callback_url": "http://10.0.0.2:8765"}
    channel = open_channel("mattermost", settings)
    question = OutboundMessage(address=b.dm, text="May I?", key="q", choices=YES_NO)
    assert not channel.capabilities.buttons
    assert "- Approve: `/approve 7`" in channel.render(question)[0].text
    await channel.close()


# What goes out


def test_whatever_is_rendered_fits_and_calls_nobody_together() -> None:
    channel = open_channel("mattermost", {"url": "https://x.org", "token": "t" * 26})
    words = " ".join(f"w{number}" for number in range(9_000))
    for text in ("", "x", words, "```py\n" + "a = 1\n" * 5_000 + "```", "@channel @ALL @here"):
        for buttons in (False, True):
            channel.reached_at(URL if buttons else "")
            message = OutboundMessage(
                address=Address("mattermost", "c"), text=text, key="k", choices=YES_NO
            )
            parts = channel.render(message)
            assert all(0 < len(part.text) <= 16_383 for part in parts)
            shown = "".join(part.text for part in parts).lower()
            assert not any(call in shown for call in ("@channel", "@all", "@here"))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 429}, NotSent),
        ({"status": 500, "id": "api.post.deduplicate_create_post.pending"}, NotSent),
        ({"status": 500, "id": "app.post.save.app_error"}, OutcomeUnknown),
        ({"status": 403, "id": "api.context.permissions.app_error"}, ChatGone),
        ({"status": 400, "id": "api.post.create_post.root_id.app_error"}, ThreadGone),
        ({"status": 400, "id": "model.post.is_valid.message_length.app_error"}, Refused),
        ({"status": 502}, OutcomeUnknown),
        ({"status": 200, "drop": "", "body": b"<html>"}, OutcomeUnknown),
        ({"drop": "after"}, OutcomeUnknown),
    ],
)
async def test_an_error_says_what_became_of_the_message(
    b: Bench, fault: dict[str, Any], error: type[Exception]
) -> None:
    b.server.fail("POST /posts", **fault)
    with pytest.raises(error):
        await b.channel.send(b.dm, PART)


async def test_a_rate_limit_says_when_to_try_again(b: Bench) -> None:
    b.server.limit = len(b.server.calls)
    with pytest.raises(NotSent) as caught:
        await b.channel.send(b.dm, PART)
    assert (caught.value.retry_after, caught.value.scope) == (2.0, "bot")


async def test_what_was_sent_without_an_answer_is_found_or_certainly_not_there(b: Bench) -> None:
    b.server.fail("POST /posts", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await b.channel.send(b.dm, PART)
    since = SystemClock().now()
    (post,) = b.server.mine(b.server.dm)
    assert await b.channel.find(b.dm, PART, since) == post["id"]
    assert await b.channel.find(b.dm, OutboundPart(text="no", key="k:1"), since) is None
    # And within half a minute a repeat makes no second post.
    assert await b.channel.send(b.dm, PART) == post["id"]
    assert b.server.texts(b.server.dm) == ["hello"]


async def test_an_edit_replaces_text_and_buttons_and_a_lost_post_is_refused(b: Bench) -> None:
    post = await asked(b, b.dm)
    await b.channel.edit(b.dm, post["id"], OutboundPart(text="Approved.", key="a"))
    assert (post["message"], post["props"]["attachments"]) == ("Approved.", [])
    await b.channel.delete(b.dm, post["id"])
    for change in (b.channel.edit(b.dm, post["id"], PART), b.channel.delete(b.dm, post["id"])):
        with pytest.raises(Refused):
            await change


async def test_files_go_both_ways_together_and_with_the_token_alone(b: Bench) -> None:
    info = b.server.file("a.txt", b"words", "text/plain")
    await b.server.say(b.server.dm, "", metadata={"files": [info]})
    (file,) = (await b.heard(1)).attachments
    assert (file.kind, file.name, file.mime, file.size) == ("document", "a.txt", "text/plain", 5)
    assert await b.channel.fetch(file, 100) == b"words"
    with pytest.raises(Refused, match="larger"):
        await b.channel.fetch(file, 4)
    with pytest.raises(Refused):
        await b.channel.fetch(Attachment(kind="document", ref=number("gone")), 100)
    files = [Attachment(kind="image", name=f"{n}.png", mime="image/png") for n in range(12)]
    assert b.channel.together(files) == 10
    part = OutboundPart(text="two", key="f", file=files[0], others=(files[1],))
    sent = await b.channel.send_album(b.dm, part, [b"one", b"two"])
    contents = [b.server.files[each]["content"] for each in b.server.posts[sent]["file_ids"]]
    assert contents == [b"one", b"two"]
    b.server.fail("POST /files", drop="after")
    with pytest.raises(NotSent):  # no post shows it
        await b.channel.send_album(b.dm, part, [b"one", b"two"])


async def test_reactions_of_people_decide_and_those_of_the_bot_mark(b: Bench) -> None:
    sent = await b.channel.send(b.dm, PART)
    await b.server.react(sent, "+1_medium_skin_tone")
    message = await b.heard(1)
    assert (message.text, message.reply_to, message.reaction) == ("👍", sent, True)
    assert [m.text for m in await b.channel.reactions(b.dm, sent)] == ["👍"]
    for mark in (Reaction.RECEIVED, Reaction.DONE):
        await b.channel.react(b.dm, sent, mark)
    marks = [each["emoji_name"] for each in b.server.reactions if each["user_id"] == ME]
    assert marks == ["white_check_mark"]


async def test_typing_is_shown_in_the_thread(b: Bench) -> None:
    await b.channel.typing(Address("mattermost", b.server.town, number("root")))
    assert b.server.typed == [{"channel_id": b.server.town, "parent_id": number("root")}]


async def test_a_wrong_token_ends_the_channel_with_the_remedy(b: Bench) -> None:
    channel = b.made(token="w" * 26)
    with pytest.raises(BadCredentials, match=r"channels\.mattermost\.token"):
        await channel.run(FakeIntake())
    await channel.close()


@pytest.mark.parametrize(
    ("key", "value"), [("url", ""), ("url", "chat"), ("token", "short"), ("callback_url", "x")]
)
def test_settings_that_cannot_work_name_the_key(key: str, value: str) -> None:
    good = {"url": "https://chat.example.org", "token": "t" * 26}
    open_channel("mattermost", good)
    with pytest.raises(ConfigError, match=f"channels.mattermost.{key} "):
        open_channel("mattermost", good | {key: value})
