"""Who requests access, and who was, on every kind of store."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Address, InboundMessage, Role, Sender
from nanobot.plugins.pairing.pairing import (
    KEPT_SECONDS,
    MAX_OPEN,
    VALID_SECONDS,
    Pairing,
    PairingRequest,
)
from nanobot.plugins.pairing.store.codes import spelled
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.session.inbox import Admission
from nanobot.store.unit import ChannelOwners
from tests.store.home import Home
from tests.stored import outbox_of

CHAT = Address("telegram", "666")
EVE = Sender("666", "Eve")


@pytest.fixture
def pairings(home: Home) -> SqlPairingStore:
    return home.pairings()


async def asked(
    pairings: SqlPairingStore, chat: Address = CHAT, sender: Sender = EVE
) -> PairingRequest:
    """An open request."""
    request = await pairings.ask(chat, sender)
    assert isinstance(request, PairingRequest)
    return request


async def test_a_request_is_the_same_until_it_expires_and_then_another(home: Home) -> None:
    pairings = home.pairings()
    first = await asked(pairings)
    home.clock.advance(VALID_SECONDS - 1)
    assert await asked(pairings) == first
    home.clock.advance(1)
    (old,) = await pairings.listed(state="expired", limit=10)
    assert (old.who, old.name, old.code) == ("telegram:666", "Eve", first.code)
    second = await asked(pairings)
    assert second.code != first.code
    assert second.expires_at == home.clock.now() + VALID_SECONDS
    assert [request.state for request in await pairings.listed(state="", limit=10)] == ["asked"]


async def test_an_approved_stranger_has_a_role_and_is_owed_a_word(home: Home) -> None:
    pairings = home.pairings()
    request = await asked(pairings)
    assert await pairings.role("telegram", "666") is None
    pairing, chat = await pairings.approve(request.code, Role.MEMBER, "1001")
    assert (pairing.who, pairing.state, pairing.role, pairing.decided_by) == (
        "telegram:666",
        "approved",
        Role.MEMBER,
        "1001",
    )
    assert chat == CHAT
    assert await pairings.role("telegram", "666") is Role.MEMBER
    assert await pairings.role("discord", "666") is None
    assert await pairings.ask(CHAT, EVE) is Role.MEMBER
    (owed,) = await outbox_of(home.records()).listed(state="pending", limit=10)
    assert (owed.address, owed.text[:11]) == ("telegram:666", "You are in.")


async def test_a_code_is_good_once_and_for_an_hour(home: Home, pairings: SqlPairingStore) -> None:
    request = await asked(pairings)
    with pytest.raises(NanobotError, match="No one was given the code ZZZZ-ZZZZ"):
        await pairings.approve("ZZZZ-ZZZZ", Role.MEMBER, "1001")
    await pairings.approve(request.code, Role.MEMBER, "1001")
    with pytest.raises(NanobotError, match="was used already: Eve is approved"):
        await pairings.approve(request.code, Role.OWNER, "1001")
    assert await pairings.role("telegram", "666") is Role.MEMBER
    late = await asked(pairings, Address("telegram", "7"), Sender("7"))
    home.clock.advance(VALID_SECONDS)
    with pytest.raises(NanobotError, match="has expired"):
        await pairings.approve(late.code, Role.MEMBER, "1001")
    assert await pairings.role("telegram", "7") is None


async def test_a_code_that_two_approve_at_once_is_used_once(pairings: SqlPairingStore) -> None:
    request = await asked(pairings)
    done = await asyncio.gather(
        *(pairings.approve(request.code, Role.MEMBER, by) for by in ("1", "2", "3")),
        return_exceptions=True,
    )
    assert sum(not isinstance(outcome, BaseException) for outcome in done) == 1
    assert sum(isinstance(outcome, NanobotError) for outcome in done) == 2


async def test_whoever_is_revoked_may_only_ask_again(pairings: SqlPairingStore) -> None:
    request = await asked(pairings)
    await pairings.approve(request.code, Role.OWNER, "1001")
    revoked = await pairings.revoke("666", "1001")
    assert (revoked.who, revoked.state) == ("telegram:666", "revoked")
    assert await pairings.role("telegram", "666") is None
    with pytest.raises(NanobotError, match="was used already"):
        await pairings.approve(request.code, Role.OWNER, "1001")
    with pytest.raises(NanobotError, match="No one called 666 has access by pairing"):
        await pairings.revoke("666", "1001")
    assert (await asked(pairings)).code != request.code


async def test_an_open_request_can_be_revoked_and_its_code_is_worth_nothing(home: Home) -> None:
    pairings = home.pairings()
    request = await asked(pairings)
    await pairings.revoke("telegram:666", "1001")
    with pytest.raises(NanobotError, match="is revoked"):
        await pairings.approve(request.code, Role.MEMBER, "1001")


async def test_one_id_on_two_channels_is_named_with_its_channel(pairings: SqlPairingStore) -> None:
    for channel in ("telegram", "work"):
        request = await asked(pairings, Address(channel, "9"))
        await pairings.approve(request.code, Role.MEMBER, "1001")
    with pytest.raises(UsageError, match="666 is several: say which of telegram:666, work:666"):
        await pairings.revoke("666", "1001")
    await pairings.revoke("work:666", "1001")
    assert await pairings.role("telegram", "666") is Role.MEMBER
    assert await pairings.role("work", "666") is None


async def test_an_id_with_a_colon_is_found_with_and_without_its_channel(home: Home) -> None:
    pairings = home.pairings()
    for who in ("@eve:example.org", "matrix:@eve:example.org"):
        request = await asked(pairings, Address("matrix", "!1"), Sender("@eve:example.org"))
        await pairings.approve(request.code, Role.MEMBER, "1001")
        assert (await pairings.revoke(who, "1001")).state == "revoked"


async def test_of_too_many_who_ask_on_a_channel_the_oldest_gives_way(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot.plugins.pairing.store.pairings.MAX_OPEN", MAX_OPEN // 20)
    pairings = home.pairings()
    elsewhere = await asked(pairings, Address("work", "1"), Sender("0"))
    first = await asked(pairings, CHAT, Sender("0"))
    home.clock.advance(1)
    second = await asked(pairings, CHAT, Sender("1"))
    home.clock.advance(1)
    many = (pairings.ask(CHAT, Sender(str(number))) for number in range(2, MAX_OPEN // 20))
    assert all(isinstance(request, PairingRequest) for request in await asyncio.gather(*many))
    assert await asked(pairings, CHAT, Sender("0")) == first
    home.clock.advance(1)
    await asked(pairings, CHAT, Sender("another"))
    with pytest.raises(NanobotError, match="No one was given"):
        await pairings.approve(first.code, Role.MEMBER, "1001")
    await pairings.approve(second.code, Role.MEMBER, "1001")
    await pairings.approve(elsewhere.code, Role.MEMBER, "1001")


async def test_an_owner_lets_in_who_did_not_ask_or_was_revoked(pairings: SqlPairingStore) -> None:
    assert (await pairings.let_in("telegram", "7", Role.GUEST, "1001")).who == "telegram:7"
    assert await pairings.role("telegram", "7") is Role.GUEST
    request = await asked(pairings)
    assert (await pairings.let_in("telegram", "666", Role.OWNER, "1001")).name == "Eve"
    assert await pairings.role("telegram", "666") is Role.OWNER
    with pytest.raises(NanobotError):
        await pairings.approve(request.code, Role.MEMBER, "1001")
    await pairings.revoke("telegram:666", "1001")
    assert await pairings.role("telegram", "666") is None


async def test_requests_that_came_to_nothing_are_forgotten_and_pairings_are_not(home: Home) -> None:
    pairings = home.pairings()
    kept = await asked(pairings)
    await pairings.approve(kept.code, Role.GUEST, "1001")
    await asked(pairings, CHAT, Sender("1"))
    home.clock.advance(VALID_SECONDS + KEPT_SECONDS)
    await asked(pairings, CHAT, Sender("2"))
    assert {request.who for request in await pairings.listed(state="", limit=10)} == {
        "telegram:666",
        "telegram:2",
    }
    assert [request.role for request in await pairings.listed(state="approved", limit=10)] == [
        Role.GUEST
    ]


async def test_a_list_is_as_long_as_it_was_asked_for(home: Home, pairings: SqlPairingStore) -> None:
    for number in range(3):
        home.clock.advance(1)
        await asked(pairings, CHAT, Sender(str(number)))
    listed = await pairings.listed(state="asked", limit=2)
    assert [request.who for request in listed] == ["telegram:2", "telegram:1"]
    assert await pairings.listed(state="revoked", limit=2) == []


async def test_a_name_of_any_length_is_kept_short(pairings: SqlPairingStore) -> None:
    await asked(pairings, CHAT, msgspec.structs.replace(EVE, name="E" * 5_000))
    (request,) = await pairings.listed(state="", limit=1)
    assert request.name == "E" * 100


async def test_what_another_process_changed_holds_here_after_seconds(home: Home) -> None:
    here, there = (Pairing(home.pairings(), home.clock) for _ in range(2))
    request = await asked(home.pairings())
    assert await here.role("telegram", "666") is None
    await there.approve(request.code.lower().replace("-", " "), Role.MEMBER, "1001")
    assert await there.role("telegram", "666") is Role.MEMBER
    assert await here.role("telegram", "666") is None
    home.clock.advance(5)
    assert await here.role("telegram", "666") is Role.MEMBER
    await here.revoke("666", "1001")
    assert await here.role("telegram", "666") is None


@pytest.mark.parametrize("text", ["", "ABCD", "ABCD-EFG", "ABCD-EFGH-JKLM", "----", "x" * 1_000])
def test_what_is_no_code_is_refused_in_words(text: str) -> None:
    with pytest.raises(NanobotError, match="is not a pairing code: those look like ABCD-EFGH"):
        spelled(text)


async def speaks(home: Home, person: str, role: Role) -> None:
    """Somebody says something in a chat of their own."""
    home.clock.advance(1)
    chat = Address("telegram", person)
    message = InboundMessage(
        address=chat,
        message_id=f"m{home.clock.now()}",
        dedupe_key=f"m{home.clock.now()}",
        sender=Sender(person),
        text="hello",
        sent_at=home.clock.now(),
    )
    admission = Admission(message=message, session_key=str(chat), role=role)
    await home.journal().admit("telegram", [admission], None, 50)


async def told_of(pairings: SqlPairingStore, home: Home, stranger: str) -> set[str]:
    """The chats whose people hear that somebody new asks."""
    home.clock.advance(2 * VALID_SECONDS)
    chat = Address("telegram", stranger)
    request = await asked(pairings, chat, Sender(stranger))
    return {address.chat_id for address in request.told}


def with_owners(home: Home, *ids: str, by_pairing: bool = True) -> SqlPairingStore:
    """The pairings of a gateway whose configuration names these owners."""
    pairings = home.pairings()
    pairings.writer.owners = {"telegram": ChannelOwners(ids, by_pairing)}
    return pairings


@pytest.mark.parametrize("then", [None, Role.MEMBER, Role.GUEST])
async def test_owners_who_are_owners_no_longer_are_not_told_what_owners_are_told(
    home: Home, then: Role | None
) -> None:
    """Their last words as an owner are still among those that show where owners can be found."""
    pairings = with_owners(home, "1001")
    await speaks(home, "1001", Role.OWNER)
    await pairings.let_in("telegram", "666", Role.OWNER, "1001")
    await speaks(home, "666", Role.OWNER)
    assert await told_of(pairings, home, "31") == {"1001", "666"}
    if then is None:
        await pairings.revoke("telegram:666", "1001")
    else:
        await pairings.let_in("telegram", "666", then, "1001")
    assert await told_of(pairings, home, "32") == {"1001"}
    await pairings.ask(CHAT, EVE)  # somebody who was revoked is a stranger again
    assert await told_of(pairings, home, "33") == {"1001"}
    await pairings.let_in("telegram", "666", Role.OWNER, "1001")
    assert await told_of(pairings, home, "34") == {"1001", "666"}


async def test_an_owner_of_the_configuration_is_told_whatever_was_revoked(home: Home) -> None:
    pairings = with_owners(home, "1001")
    await pairings.let_in("telegram", "1001", Role.MEMBER, "1001")
    await pairings.revoke("telegram:1001", "1001")
    await speaks(home, "1001", Role.OWNER)
    assert await told_of(pairings, home, "31") == {"1001"}


async def test_people_taken_out_of_the_configuration_are_told_no_more(home: Home) -> None:
    await speaks(home, "1001", Role.OWNER)
    await speaks(home, "1002", Role.OWNER)
    assert await told_of(with_owners(home, "1001", "1002"), home, "31") == {"1001", "1002"}
    assert await told_of(with_owners(home, "1001"), home, "32") == {"1001"}
    assert await told_of(with_owners(home), home, "33") == set()


async def test_owners_by_pairing_are_not_told_on_a_channel_without_pairing(home: Home) -> None:
    pairings = with_owners(home, "1001")
    await pairings.let_in("telegram", "666", Role.OWNER, "1001")
    await speaks(home, "666", Role.OWNER)
    await speaks(home, "1001", Role.OWNER)
    assert await told_of(pairings, home, "31") == {"1001", "666"}
    assert await told_of(with_owners(home, "1001", by_pairing=False), home, "32") == {"1001"}
