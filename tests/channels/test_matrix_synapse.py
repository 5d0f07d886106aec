"""The channel against a real Synapse: what the double can only claim."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from nanobot.errors import BadCredentials, ChatGone, NotSent, Refused
from nanobot.messages import Address, Attachment
from nanobot.ports import OutboundPart, Reaction
from nanobot.system import SystemClock
from nanobot_channels.matrix import MatrixChannel
from nanobot_channels.matrix.access import Invites
from nanobot_channels.matrix.api import Account, Api, path
from nanobot_channels.matrix.sync import messages
from tests.channels.matrixing import about, answer, receiving
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.synapse import Synapse, installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not installed(), reason="no Synapse: `make servers`"),
]

ME, ANN, BOB = "@nano:loopback", "@ann:loopback", "@bob:loopback"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    with Synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server


class Person(Api):
    """Somebody with a client."""

    _count = 0

    def __init__(self, synapse: Synapse, user: str) -> None:
        account = Account(synapse.root_url, user, synapse.password, device=user[1:4])
        super().__init__(account, SystemClock())

    async def ask(self, method: str, place: str, **content: Any) -> Json:
        body = () if method == "GET" else (msgspec.json.encode(content).decode(),)
        return await self.call(place, (method, place, *body))

    async def room(self, *invited: str, **how: Any) -> str:
        answer = await self.ask("POST", path("createRoom"), invite=invited, **how)
        return str(answer["room_id"])

    async def put(self, room: str, kind: str, content: Json) -> str:
        Person._count += 1
        place = path("rooms", room, "send", kind, f"t{Person._count}")
        return str((await self.ask("PUT", place, **content))["event_id"])

    async def say(self, room: str, text: str, **more: Any) -> str:
        return await self.put(room, "m.room.message", {"msgtype": "m.text", "body": text} | more)

    async def messages(self, room: str) -> list[Json]:
        """What others said, the latest first."""
        answered = await self.call("messages", messages(room, "", sender=ME))
        chunk: list[Json] = answered["chunk"]
        return [event for event in chunk if event["type"] == "m.room.message"]

    async def joined(self, room: str) -> list[str]:
        place = path("rooms", room, "joined_members")
        return sorted((await self.ask("GET", place))["joined"])


@pytest.fixture
async def ann(synapse: Synapse) -> AsyncIterator[Person]:
    person = Person(synapse, ANN)
    yield person
    await person.close()


@pytest.fixture
async def bob(synapse: Synapse) -> AsyncIterator[Person]:
    person = Person(synapse, BOB)
    yield person
    await person.close()


@pytest.fixture
def bot(synapse: Synapse) -> Callable[[], MatrixChannel]:
    invites = Invites(known=frozenset({ANN}), strangers=False)
    # Synapse keeps what it answered to a device's first poll for two minutes.
    device = f"NANOBOT{uuid.uuid4().hex}"

    def make() -> MatrixChannel:
        account = Account(synapse.root_url, ME, synapse.password, device=device)
        return MatrixChannel("matrix", account, invites=invites)

    return make


async def test_an_invited_bot_hears_and_answers(
    bot: Callable[[], MatrixChannel], ann: Person
) -> None:
    channel = bot()
    async with receiving(channel, FakeIntake()) as intake:
        room = await ann.room(ME, is_direct=True)
        await ann.say(room, "hello")
        (message,) = await intake.received(1)
        assert (message.text, message.sender.id, message.group) == ("hello", ANN, False)
        await channel.typing(message.address)
        await channel.react(message.address, message.message_id, Reaction.RECEIVED)
        await channel.react(message.address, message.message_id, Reaction.DONE)
        (part,) = channel.render(answer("**hi**", room, reply_to=message.message_id))
        event_id = await channel.send(message.address, part)
        await channel.edit(
            message.address, event_id, msgspec.structs.replace(part, text="ho", payload=b"")
        )
    edit, first = await ann.messages(room)
    assert first["event_id"] == event_id
    assert first["content"]["formatted_body"] == "<p><strong>hi</strong></p>"
    assert edit["content"]["m.new_content"]["body"] == "ho"
    place = path("rooms", room, "relations", message.message_id, "m.annotation", version="v1")
    reactions = (await ann.ask("GET", place))["chunk"]
    keys = [reaction["content"]["m.relates_to"]["key"] for reaction in reactions]
    assert keys == ["\N{WHITE HEAVY CHECK MARK}"]


async def test_a_repeat_is_no_second_message_and_is_found(
    bot: Callable[[], MatrixChannel], ann: Person
) -> None:
    intake = FakeIntake()
    part = OutboundPart(text="once", key="key of this one")
    async with receiving(bot(), intake):
        room = await ann.room(ME)
        await ann.say(room, "hello")
        await intake.received(1)
    ids = []
    for _ in range(2):
        channel = bot()
        ids.append(await channel.send(Address("matrix", room), part))
        assert await channel.find(Address("matrix", room), part, 0.0) == ids[0]
        assert (
            await channel.find(Address("matrix", room), OutboundPart(text="x", key="y"), 0.0)
            is None
        )
        await channel.close()
    assert ids[0] == ids[1]
    assert len(await ann.messages(room)) == 1


async def test_a_gap_in_two_rooms_is_closed(bot: Callable[[], MatrixChannel], ann: Person) -> None:
    intake = FakeIntake()
    async with receiving(bot(), intake):
        rooms = [await ann.room(ME) for _ in range(2)]
        for room in rooms:
            await ann.say(room, "first")
        await intake.received(2)
    texts = [str(number) for number in range(130)]
    for text in texts:
        for room in rooms:
            await ann.say(room, text)
    async with receiving(bot(), intake):
        await intake.received(2 + 2 * len(texts))
    for room in rooms:
        arrived = [message.text for message in intake.messages if message.address.chat_id == room]
        assert arrived == ["first", *texts]
    assert len({message.dedupe_key for message in intake.messages}) == len(intake.messages)


async def test_what_was_said_since_the_invitation_is_heard_though_much(
    bot: Callable[[], MatrixChannel], ann: Person
) -> None:
    intake = FakeIntake()
    async with receiving(bot(), intake):
        pass
    room = await ann.room()
    await ann.say(room, "before")
    await ann.ask("POST", path("rooms", room, "invite"), user_id=ME)
    texts = [str(number) for number in range(120)]
    for text in texts:
        await ann.say(room, text)
    async with receiving(bot(), intake):
        messages = await intake.received(len(texts))
    assert [message.text for message in messages] == texts


async def test_in_a_group_edits_threads_and_answers_are_understood(
    bot: Callable[[], MatrixChannel], ann: Person, bob: Person
) -> None:
    async with receiving(bot(), FakeIntake()) as intake:
        room = await ann.room(ME, BOB)
        await bob.ask("POST", path("join", room))
        await ann.say(room, "nano: hi")
        (named,) = await intake.received(1)
        root = named.message_id
        thread = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True}
        inside = await bob.say(room, "in thread", **about(thread))
        edit = {"rel_type": "m.replace", "event_id": inside}
        new = {"msgtype": "m.text", "body": "edited"}
        await bob.say(room, "* edited", **about(edit), **{"m.new_content": new})
        await bob.say(room, "aside", **about({"m.in_reply_to": {"event_id": root}}))
        _, threaded, edited, aside = await intake.received(4)
    assert (named.group, named.addressed, named.text) == (True, True, "hi")
    assert (threaded.address.thread_id, threaded.addressed) == (root, True)
    assert (edited.text, edited.edit_of, edited.address) == ("edited", inside, threaded.address)
    assert (aside.addressed, aside.quote) == (False, "nano: hi")


async def test_strangers_invitations_are_declined(
    bot: Callable[[], MatrixChannel], bob: Person
) -> None:
    async with receiving(bot(), FakeIntake()) as intake:
        room = await bob.room(ME)
        place = path("rooms", room, "state", "m.room.member", ME)
        for _ in range(100):
            if (await bob.ask("GET", place))["membership"] == "leave":
                break
            await bob.say(room, "well?")
    assert (await bob.ask("GET", place))["membership"] == "leave"
    assert intake.messages == []


async def test_it_goes_along_with_an_upgrade(bot: Callable[[], MatrixChannel], ann: Person) -> None:
    async with receiving(bot(), FakeIntake()) as intake:
        old = await ann.room(ME, preset="public_chat", room_version="10")
        await ann.say(old, "hello")
        await intake.received(1)
        upgrade = await ann.ask("POST", path("rooms", old, "upgrade"), new_version="11")
        new = upgrade["replacement_room"]
        while ME not in await ann.joined(new):
            pass
        await ann.say(new, "here")
        assert (await intake.received(2))[1].address.chat_id == new


async def test_files_go_both_ways(bot: Callable[[], MatrixChannel], ann: Person) -> None:
    channel = bot()
    async with receiving(channel, FakeIntake()) as intake:
        room = await ann.room(ME)
        url = await ann.upload(("POST", "/_matrix/media/v3/upload"), b"content", "text/plain")
        file = {"msgtype": "m.file", "body": "a.txt", "url": url}
        await ann.put(room, "m.room.message", file)
        (message,) = await intake.received(1)
        assert await channel.fetch(message.attachments[0], 100) == b"content"
        with pytest.raises(Refused, match="too large"):
            await channel.fetch(message.attachments[0], 6)
        with pytest.raises(Refused):
            await channel.fetch(Attachment(kind="document", ref="mxc://loopback/gone"), 6)
        picture = Attachment(kind="document", name="b.bin", mime="application/zip")
        part = OutboundPart(text="see", key="file", file=picture)
        await channel.send_file(message.address, part, b"zip")
        with pytest.raises(Refused, match="takes less"):
            await channel.send_file(message.address, part, b"x" * 200_000)
    (event,) = await ann.messages(room)
    back = ("GET", path("media", "download", *event["content"]["url"][6:].split("/"), version="v1"))
    assert await ann.download(back, 100) == b"zip"


async def test_what_fails_is_named(
    bot: Callable[[], MatrixChannel], ann: Person, synapse: Synapse
) -> None:
    channel = bot()
    part = OutboundPart(text="x", key="k")
    with pytest.raises(ChatGone):
        await channel.send(Address("matrix", "!nowhere:loopback"), part)
    room = await ann.room()
    with pytest.raises(ChatGone):
        await channel.send(Address("matrix", room), part)
    await channel.close()
    for wrong in (
        Account(synapse.root_url, ME, "wrong", device="X"),
        Account(synapse.root_url, access_token="syt_wrong"),
    ):
        refused = MatrixChannel("matrix", wrong)
        with pytest.raises(BadCredentials):
            await refused.check()
        await refused.close()


async def test_the_longest_parts_are_taken(bot: Callable[[], MatrixChannel], ann: Person) -> None:
    channel = bot()
    async with receiving(channel, FakeIntake()) as intake:
        room = await ann.room(ME)
        await ann.say(room, "hello")
        (message,) = await intake.received(1)
        parts = channel.render(answer('"<&**x**> \\' * 6_000, room))
        assert len(parts) > 1
        for number, part in enumerate(parts):
            numbered = msgspec.structs.replace(part, key=f"long:{number}")
            await channel.edit(
                message.address, await channel.send(message.address, numbered), numbered
            )


async def test_a_lost_session_and_an_unknown_place_are_got_over(
    bot: Callable[[], MatrixChannel], ann: Person, synapse: Synapse
) -> None:
    intake = FakeIntake()
    channel = bot()
    async with receiving(channel, intake):
        room = await ann.room(ME)
        await ann.say(room, "one")
        await intake.received(1)
    channel = bot()
    await channel.typing(Address("matrix", room))
    other = Person(synapse, ME)
    await other.ask("POST", path("logout", "all"))
    await other.close()
    with pytest.raises(NotSent):
        await channel.send(Address("matrix", room), OutboundPart(text="x", key="lost"))
    await channel.send(Address("matrix", room), OutboundPart(text="x", key="lost"))
    await channel.close()
    assert intake.stored
    cursor = msgspec.json.decode(intake.stored)
    intake.stored = msgspec.json.encode(cursor | {"since": "s_of_another_server"}).decode()
    await ann.say(room, "two")
    async with receiving(bot(), intake):
        await intake.until(lambda: "two" in [message.text for message in intake.messages])
