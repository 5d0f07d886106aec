"""Which claims of an answer have no call in its run that could have done it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from nanobot import text
from nanobot.forgetting import forgettable
from nanobot.messages import Origin
from nanobot.plugins.claims import chinese, english
from nanobot.plugins.claims.calls import Call, calls_of
from nanobot.plugins.claims.deeds import Deed
from nanobot.plugins.claims.sentences import Sentence, spoken
from nanobot.session.entries import Entry, ReplyEntry, TriageEntry, UserEntry

_QUOTED = 160


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence that says something was done. `failed`: the calls that could have done it, but
    failed."""

    deed: text.Sentence
    sentence: str
    failed: tuple[str, ...] = ()

    def __str__(self) -> text.Sentence:
        why = "no call of this run could have done that"
        if self.failed:
            names = ", ".join(self.failed)
            why = f"the only call that could have done that failed ({names})"
        return f'The answer says "{self.sentence}" ({self.deed}), but {why}.'


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a run with the claims that nothing supports. `entry`: where it stands."""

    entry: int
    claims: tuple[Claim, ...] = ()


def unsupported(answer: str, calls: Sequence[Call], asked: str = "") -> tuple[Claim, ...]:
    """The claims of an answer that no successful call supports, one for each deed. `asked`: the
    request that it answers."""
    return _unsupported(answer, tuple(calls), asked)


@forgettable
@lru_cache(maxsize=1_000)
def _unsupported(answer: str, calls: tuple[Call, ...], asked: str) -> tuple[Claim, ...]:
    """Kept for answers that people look at again and again: a page of a conversation has many."""
    if english.asks_for_report(asked) or chinese.asks_for_report(asked):
        return ()
    done = {deed for call in calls for deed in call.may_have()}
    told = {deed for call in calls for deed in call.may_tell()}
    said = spoken(answer)
    found: dict[Deed, Claim] = {}
    for sentence in said.sentences:
        missing = [
            each.deed
            for each in _claimed(sentence, shows=said.shows)
            if not (each.of_state and each.deed in told)
        ]
        # A verb may mean several deeds: one that was done is enough for its sentence.
        if missing and not done & set(missing):
            deed = missing[0]
            claim = Claim(deed=deed, sentence=_short(sentence.shown), failed=_failed(calls, deed))
            found.setdefault(deed, claim)
    return tuple(found.values())


def judged(entries: Sequence[Entry], descriptions: Mapping[str, str]) -> Judged | None:
    """The answer of a run and its claims; None if it has no answer yet, or none that can be judged:
    background runs that reported to this one may have done anything."""
    answer = _answer(entries)
    if answer is None or not isinstance(answer.body, ReplyEntry):
        return None
    requests = [entry.body for entry in entries if isinstance(entry.body, UserEntry)]
    started = any(isinstance(e.body, TriageEntry) and e.body.run_to_start for e in entries)
    if started or any(request.origin is Origin.RUN for request in requests):
        return None
    asked = requests[-1].text if requests else ""
    calls = calls_of(entries, descriptions)
    return Judged(entry=answer.seq, claims=unsupported(answer.body.text, calls, asked))


def _answer(entries: Sequence[Entry]) -> Entry | None:
    """The last reply, if it is an answer: with words, without calls, and not cut off."""
    for entry in reversed(entries):
        body = entry.body
        if isinstance(body, ReplyEntry):
            return entry if body.text and not body.tool_calls and not body.partial else None
    return None


def _claimed(sentence: Sentence, *, shows: bool) -> Iterable[english.Said]:
    if chinese.is_chinese(sentence.text):
        return chinese.claimed(sentence, shows=shows)
    return english.claimed(sentence, shows=shows)


def _failed(calls: Sequence[Call], deed: Deed) -> tuple[str, ...]:
    failed = [call for call in calls if not call.ok]
    could = (call for call in failed if deed in msgspec.structs.replace(call, ok=True).may_have())
    return tuple(dict.fromkeys(call.name for call in could))


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= _QUOTED else f"{sentence[: _QUOTED - 1]}…"
