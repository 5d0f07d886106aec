"""Each public noun is a term of the glossary or an ordinary word, so that no word gets a second
meaning unnoticed. Public: commands, tables of the configuration and of the store, HTTP types, and
what `import nanobot` offers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nanobot
from nanobot import __version__
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.common.http.descriptions import DOORS, delivering
from nanobot.plugins.configuration.schema import schema
from nanobot.plugins.hooks.webhook import Webhooks
from nanobot.plugins.http_api import openapi
from nanobot.plugins.http_api.descriptions import SERVED_WITH_OTHERS
from nanobot.plugins.openai.descriptions import DESCRIPTIONS as OPENAI
from nanobot.plugins.page.descriptions import DESCRIPTIONS as PAGE
from nanobot.session import entries
from nanobot.store.database.schema import metadata

GLOSSARY = (Path(__file__).resolve().parent.parent / "docs" / "glossary.md").read_text("utf-8")
TERMS = {
    word.strip().lower()
    for term in re.findall(r"\*\*(.+?)\*\*", GLOSSARY)
    for word in re.split(r"[,()]", term)
}
ORDINARY_WORDS = """
access account agent ai answer approve archived attachment attempt audit auxiliary background
builder bus call cancel card case change changed choice chunk column command compact comparison
completion config connected content cost cron database decision deleted delivered delta denied
deny detail diagnostic done drain due effect embedding ended erased error evaluation explanation
export failed fallback feedback field file finding follow format found header health help hit
image indexed input item json key kind language last leave lifecycle limit link list lite live
llm login loop manager mark mcp me message met meta metric model moment moved name native new
notice notify object open option origin output overflow overview page pair path payload person
piece position post price profile proof provenance push quarantined quiet registry rejected
reload reloaded remember replay reply report request reset response restart result retention
review role row rpc rule said say schema search second security send sender sent server setting
show side snapshot socket span spec start started state status step stop store stream subagent
subscription summary taken test text timeline token total transcription tried type undelivered
undone unreachable url use user vector verdict version view voice warning web word
"""
ORDINARY = frozenset(ORDINARY_WORDS.split())
"""Words that mean here what they mean everywhere, and adjectives of other words."""


def singular(word: str) -> str:
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ss", "ss"), ("s", "")):
        if word.endswith(ending) and word not in {"status", "access", "bus"}:
            return word.removesuffix(ending) + instead
    return word


def words(name: str) -> Iterator[str]:
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name):
        yield singular(part.lower())


def public() -> dict[str, str]:
    """Each public word, with a place where it is used."""
    described = openapi.description(
        (*OPERATIONS, *plugin_operations()),
        __version__,
        cookie="nanobot",
        also=[delivering("/hooks", Webhooks.about), *DOORS, *SERVED_WITH_OTHERS, *OPENAI, *PAGE],
    )
    places = {
        "command": [operation.name.split()[0] for operation in (*OPERATIONS, *plugin_operations())],
        "key of the configuration": [*schema()["$defs"]["ConfigFile"]["properties"]],
        "table of the store": [*metadata().tables],
        "HTTP type": [*described["components"]["schemas"]],
        "kind of entry": [name for name in vars(entries) if name.endswith("Entry")],
        "name in nanobot": nanobot.__all__,  # type: ignore[attr-defined]
    }
    return {
        word: f"{place} {name}"
        for place, names in places.items()
        for name in names
        for word in words(name.rpartition(".")[2])
    }


def test_every_public_noun_is_in_the_glossary_or_an_ordinary_word() -> None:
    known = TERMS | {singular(term) for term in TERMS} | ORDINARY
    missing = {word: place for word, place in public().items() if word not in known}
    assert missing == {}


def test_no_term_is_an_ordinary_word() -> None:
    assert sorted(ORDINARY & TERMS) == []


def test_the_glossary_is_sorted() -> None:
    terms = [term.lower() for term in re.findall(r"^\| \*\*(.+?)\*\*", GLOSSARY, re.MULTILINE)]
    assert terms == sorted(terms)
    assert len(terms) >= 40
