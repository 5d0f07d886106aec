"""An export proves its log: whatever is changed in it is found, and what was left out is not
missed."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import StoreCorrupt, UnknownId, UsageError
from nanobot.plugins.proof.format import ExportedEntry
from nanobot.plugins.proof.redaction import Redaction
from nanobot.plugins.proof.verifying import ExportBroken, head_of
from nanobot.session.chain import link_hash, payload_digest
from tests.plugins.proof.logs import KEY, Log, found, replied, said, verified

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
BODIES = st.lists(st.one_of(TEXT.map(said), TEXT.map(replied), TEXT.map(found)), max_size=6)
CHOICES = st.sampled_from(["", "all", "reply", "post,tool_result"])


async def some_export(bodies: Any, redact: str, erased: int, after: int) -> tuple[bytes, bytes]:
    """An export, and the head of its log."""
    one = Log(bodies)
    if bodies and erased:
        await one.erase(erased % len(bodies) + 1)
    return await one.exported(redact, after=after % (len(bodies) + 1)), await one.head()


@pytest.mark.process
@given(BODIES, CHOICES, st.integers(0, 9), st.integers(0, 9))
async def test_every_export_verifies_up_to_the_head_of_its_log(
    bodies: Any, redact: str, erased: int, after: int
) -> None:
    export, head = await some_export(bodies, redact, erased, after)
    proof = verified(export)
    assert (proof.head, proof.proven) == (head.hex(), 0)
    if proof.last >= proof.first:
        assert verified(export, head).proven == proof.last


@pytest.mark.process
@given(BODIES, CHOICES, st.integers(0, 9), st.integers(0, 9), st.data())
async def test_whatever_single_thing_is_changed_is_found(
    bodies: Any, redact: str, erased: int, after: int, data: st.DataObject
) -> None:
    export, _ = await some_export(bodies, redact, erased, after)
    lines = export.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(export) - 1))
    line = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != export[at]))
    moved = [each for number, each in enumerate(lines) if number != line]
    moved.insert(other, lines[line])
    changed = {
        "a byte": export[:at] + bytes([byte]) + export[at + 1 :],
        "a byte more": export[:at] + bytes([byte]) + export[at:],
        "a byte less": export[:at] + export[at + 1 :],
        "the end is cut off": export[:at],
        "a line less": b"".join(lines[:line] + lines[line + 1 :]),
        "a line twice": b"".join(lines[: line + 1] + lines[line:]),
        "a line elsewhere": b"".join(moved),
    }
    for what, bad in changed.items():
        if bad == export:  # the line was moved to where it is
            continue
        with pytest.raises(ExportBroken):
            raise AssertionError(f"{what}: {verified(bad)}")


def rechained(export: bytes, change: Any) -> bytes:
    """An export by somebody who changes entries, and makes every digest and hash anew."""
    head, *entries, _ = (json.loads(line) for line in export.splitlines())
    written = [json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"]
    link = bytes.fromhex(head["link"])
    for fields in change(entries):
        entry = ExportedEntry(**fields)
        if not entry.withheld:
            digest = payload_digest(b64decode(entry.salt), entry.payload.encode())
            fields["digest"] = base64(digest)
            entry = ExportedEntry(**fields)
        link = link_hash(link, entry.link())
        fields["hash"] = link.hex()
        written.append(
            json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        )
    sha256 = hashlib.sha256(b"".join(written)).hexdigest()
    end = {"end": fields["seq"], "head": link.hex(), "sha256": sha256}
    return b"".join(written) + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def with_another_word(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    entries[1]["payload"] = entries[1]["payload"].replace("two", "six")
    return entries


@pytest.mark.parametrize("change", [with_another_word, lambda entries: entries[:-1]])
async def test_who_forges_every_hash_is_found_by_the_head_that_was_noted(change: Any) -> None:
    one = Log([said("one"), said("two"), said("three")])
    forged = rechained(await one.exported(), change)
    assert verified(forged).proven == 0
    with pytest.raises(ExportBroken, match="does not contain the head"):
        verified(forged, await one.head())


async def test_a_head_noted_earlier_proves_the_entries_up_to_it() -> None:
    one = Log([said("one"), said("two")])
    noted = await one.head()
    one.add([said("three")])
    assert verified(await one.exported(), noted).proven == 2


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        ("two", "six", "entry 2 of x.jsonl does not fit: its content does not have its digest"),
        ('"kind":"reply"', '"kind":"reple"', "entry 2 .*its hash does not follow from it and"),
        ('"seq":3', '"seq":4', "entry 3 of x.jsonl does not fit: entry 4 is in its place"),
        ('"seq":2', '"seq" :2', "entry 2 of x.jsonl does not fit: it is not written as an export"),
        ('"run_id":"run1"', '"run_id":7', r"entry 1 .*Expected `str`, got `int`"),
        ('"version":1', '"version":2', "has version 2 of the format, and this nanobot reads 1"),
        ('"format":"nanobot-log"', '"format":"log"', "is not the export of a log"),
        ('{"end":3', '{"end":4', "entry 4 of x.jsonl does not fit: it is missing"),
        (f'"{KEY}","after"', '"telegram:1","after"', "it is of another session, telegram:1001"),
    ],
)
async def test_the_first_entry_that_does_not_fit_is_named(was: str, now: str, why: str) -> None:
    export = (await Log([said("one"), replied("two"), said("three")]).exported()).decode()
    with pytest.raises(ExportBroken, match=why):
        verified(export.replace(was, now, 1).encode())


async def test_a_cut_export_names_where_it_ends() -> None:
    export = await Log([said("one"), said("two")]).exported()
    lines = export.splitlines(keepends=True)
    with pytest.raises(ExportBroken, match=r"entry 2 of x\.jsonl .*: it was cut"):
        verified(b"".join(lines[:2]))
    with pytest.raises(ExportBroken, match="goes on behind its last line"):
        verified(export + b"\n")


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"{}\n", b"[" * 100_000, b"\xff\xfe\n", b"7\n"])
async def test_a_file_that_is_no_export_is_called_so(data: bytes) -> None:
    with pytest.raises(ExportBroken, match="is not the export of a log"):
        verified(data)


async def test_contents_are_left_out_by_kind_and_by_pattern_and_stay_provable() -> None:
    one = Log([said("my card is 4111"), found("card 4242"), replied('pay "it"\nnow')])
    whole = await one.exported()
    for redact, matching, left_out in (
        ("tool_result", "", 1),
        ("", "41{3}", 1),
        ("post", "4242", 2),
        ("", '^pay "it"$(?m:)', 0),
        ("", '"it"\nnow', 1),
        ("all", "", 3),
    ):
        export = await one.exported(redact, matching)
        proof = verified(export, await one.head())
        assert (proof.redacted, proof.proven) == (left_out, 3)
        assert (b"4242" in export) == (left_out < 2 and redact != "tool_result")
        # Who has the content can still show that it is what was left out.
        kept, less = (json.loads(e.splitlines()[2]) for e in (whole, export))
        assert payload_digest(b64decode(kept["salt"]), kept["payload"].encode()) == b64decode(
            less["digest"]
        )


async def test_what_was_erased_is_no_fault_and_what_was_only_emptied_is_one() -> None:
    one = Log([said("one"), said("two")])
    await one.erase(1)
    export = await one.exported("all")
    proof = verified(export, await one.head())
    assert (proof.last, proof.erased, proof.redacted) == (3, 1, 1)

    await one.process.transact(
        lambda c: c.exec_driver_sql("UPDATE entries SET payload = NULL WHERE seq = 2"), "x"
    )
    with pytest.raises(StoreCorrupt, match=f"entry 2 of {KEY} was emptied without saying so"):
        await one.exported()
    unsaid = rechained(
        await Log([said("one"), said("two")]).exported(),
        lambda entries: [{**entries[0]}, {**bare(entries[1]), "withheld": "erased"}],
    )
    with pytest.raises(ExportBroken, match=r"entry 2 of x\.jsonl .*no later entry says so"):
        verified(unsaid)


def bare(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("salt", "payload")}


async def test_an_entry_that_is_erased_while_the_export_is_read_is_no_fault() -> None:
    one = Log([said(f"{number}") for number in range(500)])
    pieces: list[bytes] = []
    async for some in one.export().lines():
        if len(pieces) == 1:
            await one.erase(490)
        pieces.append(some)
    proof = verified(b"".join(pieces), await one.head())
    assert (proof.last, proof.erased) == (501, 1)


async def test_entries_of_a_newer_version_are_exported_and_verified() -> None:
    one = Log([said("one")])

    def newer(connection: Any) -> None:
        salt, payload = b"salt", b'{"type":"hologram","depth":3}'
        digest = payload_digest(salt, payload)
        (was,) = connection.exec_driver_sql("SELECT hash FROM entries WHERE seq = 1").first()
        entry = ExportedEntry(
            session_key=KEY,
            seq=2,
            run_id="r",
            kind="hologram",
            at=5.0,
            digest=base64(digest),
            hash="",
        )
        link = link_hash(was, entry.link())
        connection.exec_driver_sql(
            "INSERT INTO entries (session_key, seq, run_id, kind, at, salt, payload, digest, hash)"
            " VALUES (?, 2, 'r', 'hologram', 5.0, ?, ?, ?, ?)",
            (KEY, salt, payload, digest, link),
        )
        connection.exec_driver_sql("UPDATE sessions SET head_seq = 2, head_hash = ?", (link,))

    await one.process.transact(newer, "x")
    export = await one.exported()
    assert b"hologram" in export
    assert verified(export, await one.head()).proven == 2


@pytest.mark.parametrize(
    ("statement", "said_of_it"),
    [
        ("UPDATE entries SET payload = x'7b7d' WHERE seq = 2", "entry 2 .* was changed after"),
        ("UPDATE entries SET run_id = 'other' WHERE seq = 2", "is broken at entry 2"),
        ("DELETE FROM entries WHERE seq = 2", "is broken at entry 3"),
        ("DELETE FROM entries WHERE seq = 3", "was cut: entry 3 is missing"),
    ],
)
async def test_a_log_that_was_changed_is_not_exported(statement: str, said_of_it: str) -> None:
    one = Log([said("one"), said("two"), said("three")])
    await one.process.transact(lambda c: c.exec_driver_sql(statement), "x")
    with pytest.raises(StoreCorrupt, match=said_of_it):
        await one.exported()


async def test_what_cannot_be_exported_is_refused_with_the_remedy() -> None:
    with pytest.raises(UsageError, match=r"no kind of entry 'replies'; write all, or .*reply"):
        Redaction("replies")
    with pytest.raises(UsageError, match="not a regular expression"):
        Redaction("", "(")
    with pytest.raises(UsageError, match="is not a head: 64 hexadecimal digits are"):
        head_of("5c8f")
    with pytest.raises(UnknownId, match=f"The log of {KEY} has entries 1 to 1, not 9"):
        await Log([said("one")]).exported(after=9)
