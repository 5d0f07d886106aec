"""The quality scale of channels: its rules, and the adapter's statement about each in
its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum

import msgspec


class Grade(StrEnum):
    """The grades, lowest first. A channel has a grade if every rule of it and of lower grades is
    done or exempt."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    PLATINUM = "platinum"


RULES: dict[Grade, dict[str, str]] = {
    Grade.BRONZE: {
        "contract": "The channel passes every check of `nanobot.testing.channels`.",
        "settings": "Settings that cannot work are refused before anything is connected, and the "
        "error names the key.",
        "setup": "`nanobot onboard` asks for everything the channel needs and tries it at the "
        "platform before it saves it.",
        "commit-first": "The platform hears that a message arrived only after it is on disk.",
        "duplicates": "A message that the platform delivers twice is answered once.",
        "malformed": "Malformed events and absurd numbers are skipped and never stop the channel.",
        "limits": "Every part keeps to the platform's documented limits, and no text is lost.",
        "documentation": "A page tells how to set the channel up, its settings and its limits.",
    },
    Grade.SILVER: {
        "kill-in-send": "After a kill -9 during a send the message is there once, or its repeat "
        "says that it may be one.",
        "missed-messages": "Messages sent while nanobot was down are answered in order when it is "
        "back.",
        "outage": "The channel waits out an outage of the platform and loses nothing.",
        "credentials": "Refused credentials end the channel with a message that says what to do.",
        "rate-limits": "Waits that the platform asks for are kept, for a chat or the whole bot.",
        "proxy-errors": "An error page of a proxy leaves the outcome of a send unknown. It is "
        "never read as the platform's answer.",
        "gone": "Closed chats and threads, and people who blocked the bot, are told apart from "
        "passing errors.",
        "troubleshooting": "The page has a section on what to do when it does not work.",
    },
    Grade.GOLD: {
        "groups": "In groups the assistant answers when it is addressed.",
        "threads": "A conversation in a thread stays in its thread.",
        "edits": "An edited message counts as a new version of the message.",
        "previews": "The answer is shown while it is written, in the message that becomes it.",
        "files-in": "People can send files.",
        "files-out": "The assistant can send files.",
        "approvals": "Approvals have buttons, and only the first press counts.",
        "reactions": "Reactions mark messages, and people's reactions decide and rate.",
        "typing": "People see that an answer is being made.",
        "menu": "The platform's menu shows the commands.",
        "several-accounts": "Several accounts work in one process.",
    },
    Grade.PLATINUM: {
        "look-up": "A send of unknown outcome is looked up instead of repeated.",
        "native-form": "Tables, code and long texts use the platform's own forms, with an older "
        "form where they are refused.",
        "streams": "Answers grow by the platform's own means of streaming.",
        "private": "What concerns one person of a group is shown to that person alone.",
        "albums": "Several files of one answer are one message.",
        "voice": "Spoken answers are voice messages.",
        "missed-reactions": "Reactions made while nanobot was down still decide.",
        "real-server": "Tests run against a real server of the platform.",
    },
}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter's description of itself: `manifest.toml` in its package.

    Each rule is in one of three tables: `done` names the tests that show it, `exempt` the reason
    why it does not apply, `open` the missing work. A rule without a table is open."""

    platform: str
    """Its name for people."""
    api: str
    """The version of the platform's API that it was built for."""
    source: str
    """That API's documentation."""
    read_on: date
    """When it was last read."""
    owner: str
    """The maintainer."""
    done: dict[str, list[str]] = {}
    exempt: dict[str, str] = {}
    open: dict[str, str] = {}

    @property
    def grade(self) -> Grade | None:
        """The highest grade whose rules, with those of all lower grades, are done or exempt."""
        reached = None
        for grade, rules in RULES.items():
            if not rules.keys() <= self.done.keys() | self.exempt.keys():
                break
            reached = grade
        return reached

    def problems(self) -> Iterator[str]:
        """Contradictions to the scale: unknown rules, a rule in several tables, one without a test
        or a reason."""
        known = {rule for rules in RULES.values() for rule in rules}
        tables: dict[str, Mapping[str, object]] = {
            "done": self.done,
            "exempt": self.exempt,
            "open": self.open,
        }
        for name, table in tables.items():
            for rule, says in table.items():
                if rule not in known:
                    yield f"{name}.{rule}: there is no such rule"
                if not says:
                    yield f"{name}.{rule}: names no test or reason"
        for rule in known:
            places = [name for name, table in tables.items() if rule in table]
            if len(places) > 1:
                yield f"{rule}: is in {' and '.join(places)}"
