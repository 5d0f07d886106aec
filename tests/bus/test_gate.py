"""The gate: nobody by default, and no text that would trip others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.bus.gate import Gate, GroupMode
from nanobot.config.settings.channels import ChatSettings
from nanobot.messages import Address, Role, SessionPolicy, session_key
from nanobot.text import without_controls


def test_nobody_is_let_in_by_default() -> None:
    assert Gate((), ()).role("1001") is None


def test_owners_and_members_are_told_apart_and_owners_win() -> None:
    gate = Gate(("1",), ("1", "2"))
    assert [gate.role(sender) for sender in ("1", "2", "3")] == [Role.OWNER, Role.MEMBER, None]


def test_a_star_lets_everyone_in_as_a_member_and_nobody_as_an_owner() -> None:
    assert Gate((), ("*",)).role("anybody") is Role.MEMBER
    assert Gate(("*",), ()).role("anybody") is None


def test_whoever_is_named_is_what_the_name_says_whatever_everybody_is() -> None:
    gate = Gate(("1",), ("2", "*"), ("3",))
    assert [gate.role(sender) for sender in "1234"] == [
        Role.OWNER,
        Role.MEMBER,
        Role.GUEST,
        Role.MEMBER,
    ]
    assert Gate((), (), ("*",)).role("anybody") is Role.GUEST


def test_members_of_one_group_are_members_there_only() -> None:
    rooms = {"-1": ChatSettings(members=("2",)), "-2": ChatSettings(members=("*",))}
    gate = Gate(("1",), (), ("3",), GroupMode(chats=rooms))
    assert [gate.role(sender, "-1") for sender in "1234"] == [
        Role.OWNER,
        Role.MEMBER,
        Role.GUEST,
        None,
    ]
    assert gate.role("4", "-2") is Role.MEMBER
    assert gate.role("3", "-2") is Role.GUEST
    assert gate.role("2", "7") is None


def test_a_paired_person_is_what_the_pairing_says_and_more_if_the_configuration_does() -> None:
    rooms = {"-1": ChatSettings(members=("2",))}
    gate = Gate(("1",), ("*",), (), GroupMode(chats=rooms))
    assert gate.role("2", let_in=Role.GUEST) is Role.GUEST
    assert gate.role("2", "-1", Role.GUEST) is Role.MEMBER
    assert gate.role("2", "-1", Role.OWNER) is Role.OWNER
    assert gate.role("1", let_in=Role.GUEST) is Role.OWNER


@pytest.mark.parametrize(
    ("policy", "key"),
    [("chat", "telegram:7"), ("thread", "telegram:7:t"), ("sender", "telegram:7:t:@1001")],
)
def test_a_session_is_named_by_the_policy(policy: SessionPolicy, key: str) -> None:
    assert session_key(Address("telegram", "7", "t"), "1001", policy) == key


def test_without_a_thread_there_is_none_in_the_name() -> None:
    assert session_key(Address("telegram", "7"), "1001", "thread") == "telegram:7"


def test_controls_and_halves_of_emoji_are_taken_out_and_lines_end_alike() -> None:
    assert without_controls("a\x00\x1b[31m\x7f\x9b\ud83d b\r\nc\rd\te\n") == "a[31m b\nc\nd\te\n"


@given(st.text(st.characters(), max_size=50))
def test_a_cleaned_text_can_be_stored_anywhere(text: str) -> None:
    cleaned = without_controls(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert without_controls(cleaned) == cleaned
