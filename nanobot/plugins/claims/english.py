"""The deeds that a sentence in English claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from nanobot.plugins.claims.deeds import (
    ENGLISH,
    MADE,
    NEEDS,
    OWN_TEXT,
    PATH,
    THINGS,
    TOUCHING,
    Deed,
)
from nanobot.plugins.claims.sentences import Sentence

_ADVERB = (
    r"(?:(?:just|already|also|now|then|successfully|finally|quickly|both|since|gone ahead and"
    r"|went ahead and|all|even|immediately|personally|only) )*"
)
_DEED = {deed: re.compile(rf"(?:{words})\b", re.IGNORECASE) for deed, words in ENGLISH.items()}
_ANY = "|".join(sorted({word for words in ENGLISH.values() for word in words.split("|")}))
_FIRST = re.compile(rf"\bI(?:'ve| have)? {_ADVERB}(?P<deed>(?:{_ANY})\b.*|let\b.*)", re.IGNORECASE)
_ACTED = re.compile(
    r"^(?:.*\b)?I(?:'ve| have)? (?:\w+ly |just |also |then )*[a-z]+(?:ed|t|n|ut|id)\b"
)
_AGAIN = re.compile(
    rf"(?:\band|,|;) (?:then |also |just |have |has been )?(?P<deed>(?:{_ANY})"
    r" (?:it|them|the|a|an|your|my|all|that|this|him|her|everyone|off|up|to|for|with|\d|[\w-]+[./])"
    r".*)",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:okay|ok|done|sure(?: thing)?|all set|great|alright|all right|got it|good news|perfect"
    r"|quick update|sorted|yes|yep|right|there you go|voilà|it's done|that's done|as you wished"
    r"|good|excellent|and)\b[,.!:;—– -]*)+",
    re.IGNORECASE,
)
_ELIDED = re.compile(
    rf"^{_ADVERB}(?!(?:run|put|set|let)\b)(?P<deed>(?:{_ANY})(?:[.!:,]| (?:it|them|the|your|that"
    r"|this|all|a|an|to|as|in|at"
    r"|for|on|everything|you in|off|(?-i:[A-Z]\S*)|\d+|[\w-]*[./]\S*|\w+[,.!]).*|$).*)",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:message|e-?mail|mail|reply|note|invitation|invite|reminder|timer|alarm|event|appointment"
    r"|meeting|job|task|file|document|report|backup|calendar|memory|table|order|package|service"
    r"|server|changes?|code|commit|branch|slack channel|team|list|invoice|text|sms|notification)s?"
)
_BRIEF = re.compile(
    rf"^(?:the |your |all )?{_NOUN} (?:successfully |now )?(?P<deed>(?:{_ANY}))\b(?=[.!:,]|$| to\b"
    r"| for\b| at\b| on\b| as\b| in\b)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"^(?P<who>.*?)\b(?:(?P<perfect>(?:has|have) (?:\w+ )?been)|(?P<state>is|are|'s|'re)"
    r"|(?P<past>was|were)) (?P<adverb>(?:just |now |all |also |successfully |already |finally )*)"
    rf"(?P<deed>(?:{_ANY})\b.*)",
    re.IGNORECASE,
)
_ON_ITS_WAY = re.compile(
    r"\b(?:message|e-?mail|mail|invoice|reply|note|letter|invitation|text)s?\b (?:\w+ ){0,3}?"
    r"(?:on (?:its|their) way|went out|went through)\b",
    re.IGNORECASE,
)
_REMINDER_SET = re.compile(
    r"\b(?:reminder|alarm|timer)s? (?:\w+ ){0,2}?(?:is|are|has been|'s) (?:now |all )?"
    r"(?:set|running)\b"
    r"|^(?:reminder|alarm|timer)s? (?:is )?set\b|\btimer's running",
    re.IGNORECASE,
)
_WRITTEN_DOWN = re.compile(r"\b(?:is|are|'s) (?:now |all )?written down in\b", re.IGNORECASE)
_GREEN = re.compile(
    r"\b(?:tests?|suite)\b.*\b(?:pass(?:es|ed)? now|now pass|are green now)\b", re.IGNORECASE
)
_NOW = re.compile(
    r"\b(?:now|just|successfully|a (?:moment|minute|second) ago|right away)\b", re.IGNORECASE
)

_NOT = re.compile(
    r"\b(?:not|never|nothing|none|nobody|no(?! longer)\b|cannot|failed|fails?|without|unable"
    r"|instead of|rather than|haven|hasn|didn|wasn|weren|couldn|isn|aren|neither|nor|almost"
    r"|nearly)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"\b(?:if|once|when|whenever|unless|whether|until|till|after|before|as soon as|in case|would"
    r"|could|should|might|may|will|can|shall|must|going to|about to|want(?:ed)? to|plan|please"
    r"|to be"
    r"|let me|seems?|apparently|probably|supposed|thought|wish|i'd|'ll|assuming|suppose|say)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:according|says?|said|reports?|reported|writes?|wrote that|shows? that|changelog|article"
    r"|news|log says|mentions?|claims?|means|in short|release notes|as i understand|you asked"
    r"|as you|they|he|she|who|somebody|someone|you(?:'ve)?|people|your \w+ (?:has|have)"
    r"|had)\b[^.]*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\byesterday\b|\blast (?:night|week|month|year|time|mon|tues|wednes|thurs|fri|satur|sun)"
    r"|\b(?:days?|weeks?|months?|years?|hours?) ago\b|\bearlier\b|\bpreviously\b"
    r"|\bin (?:19|20)\d\d\b"
    r"|\bback then\b|\bthis (?:morning|afternoon)\b",
    re.IGNORECASE,
)
_ON_A_DAY = re.compile(r"\bon (?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_BY = re.compile(r"\bby (?!me\b|now\b|e-?mail\b|mail\b|then\b|default\b|\d)\w+", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(?:so |and |but |hey |hi |please tell me,? )*(?:did|have|has|had|is|are|was|were"
    r"|when did|what did|which|what happened|how many|who|where)\b",
    re.IGNORECASE,
)


_LASTING = frozenset({Deed.SAVED, Deed.SENT, Deed.DELETED, Deed.MOVED, Deed.PUBLISHED})
"""Of these "is saved" says where something is, as often as what was done."""


_LOOSE = re.compile(
    rf"^(?:your|the|all)\b(?!.*\b(?:when|where|if|each|every|which|that)\b).*\b"
    rf"(?:is|are) (?:{_ANY})\b"
    r"\s*(?:[.!,:;]|$|and\b|for\b|at\b|on\b)"
    r"|^(?-i:[A-Z])\w+ (?:is|are) (?:installed)\b",
    re.IGNORECASE,
)
"""A state that is likely to be the result of this run."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A deed that a sentence claims. `of_state`: it says how things are, not who did it, so having
    looked is enough to say it."""

    deed: Deed
    of_state: bool = False


def asks_for_report(request: str) -> bool:
    """Whether a person asks what was done, so that the answer may be about earlier runs."""
    return "?" in request and _QUESTION.match(request.strip()) is not None


def claimed(sentence: Sentence, *, shows: bool) -> Iterator[Said]:
    """The deeds that a sentence claims. `shows`: the answer contains a text made for the person."""
    if sentence.asks or _BEFORE.search(sentence.text):
        return
    for segment in re.split(r"(?<=[:;]) | [—–] |(?<=\)) |, but |, so |, because ", sentence.text):
        yield from _in_segment(segment.strip(), sentence, shows=shows)


def _in_segment(segment: str, sentence: Sentence, *, shows: bool) -> Iterator[Said]:
    first = [match for match in (_FIRST.search(segment),) if match is not None]
    acted = _ACTED.match(segment) is not None and not _doubtful(segment[: segment.find("I")])
    for match in [*first, *(_AGAIN.finditer(segment) if acted or first else ())]:
        before = segment[: match.start()]
        if not _doubtful(before) and "already" not in segment[match.start() : match.start("deed")]:
            yield from _deeds(match["deed"], shows=shows)
    if first or acted:
        return
    bare = _FILLER.sub("", segment)
    listed = sentence.bullet and not sentence.of_what_was_done
    elided = None if listed else _ELIDED.match(bare)
    if elided is not None and not re.search(r"^\S+ \S+ (?:is|are|can|will|were)\b", bare):
        yield from _deeds(elided["deed"], shows=shows)
        for match in _AGAIN.finditer(bare):
            yield from _deeds(match["deed"], shows=shows)
    elif not listed:
        yield from _brief(bare)
        yield from _passive(bare, filled=bare != segment, shows=shows)


def _brief(segment: str) -> Iterator[Said]:
    """Short forms: "Email sent", "your message is on its way", "the reminder is set"."""
    if (match := _BRIEF.match(segment)) is not None:
        yield from (
            Said(deed=deed)
            for deed, verb in _DEED.items()
            if verb.fullmatch(match["deed"])
            and not (
                deed in NEEDS
                and deed is not Deed.SENT
                and not NEEDS[deed].search(match["deed"] + ".")
            )
        )
    for pattern, deed in (
        (_ON_ITS_WAY, Deed.SENT),
        (_REMINDER_SET, Deed.SCHEDULED),
        (_WRITTEN_DOWN, Deed.SAVED),
        (_GREEN, Deed.RAN),
    ):
        found = pattern.search(segment)
        if found is not None and not _doubtful(segment[: found.start()]):
            fresh = deed is Deed.SENT or _NOW.search(segment) is not None
            yield Said(deed=deed, of_state=not fresh)


def _passive(segment: str, *, filled: bool, shows: bool) -> Iterator[Said]:
    match = _PASSIVE.match(segment)
    if match is None or _doubtful(match["who"]) or _BY.search(match["deed"]):
        return
    if not match["who"].strip() or "already" in match["adverb"]:
        return
    fresh = filled or _NOW.search(segment) is not None
    if match["past"] and not _NOW.search(segment):
        return
    lasting = match["state"] is not None and not fresh
    if lasting and not _LOOSE.search(segment):
        return
    for said in _deeds(match["deed"], shows=shows, subject=match["who"]):
        if not (lasting and said.deed in _LASTING):
            yield msgspec.structs.replace(said, of_state=not (fresh and match["state"] is None))


def _doubtful(before: str) -> bool:
    """Whether what precedes a verb makes it a plan, a condition, a denial or a report."""
    patterns = (_NOT, _MAYBE, _TOLD, _ON_A_DAY)
    return any(pattern.search(before) is not None for pattern in patterns)


def _deeds(clause: str, *, shows: bool, subject: str = "") -> Iterator[Said]:
    """The deeds of a clause that begins with a verb."""
    if re.match(
        r"let (?!you\b|me\b|us\b|'s|it\b|him go)\S+(?: \S+){0,3} know\b", clause, re.IGNORECASE
    ):
        yield Said(deed=Deed.SENT)
    for deed, verb in _DEED.items():
        if verb.match(clause) and _is_meant(deed, clause, subject, shows=shows):
            yield Said(deed=deed)


def _is_meant(deed: Deed, clause: str, subject: str, *, shows: bool) -> bool:
    """Whether the verb means the deed here, and not something done to the answer's own text."""
    near = re.split(r",? and (?:then )?(?=\w+ed\b)", clause, maxsplit=1)[0]
    about = f"{subject} {near}"
    needed = NEEDS.get(deed)
    if needed is not None and not subject and not needed.search(near):
        return False
    if needed is not None and subject and not _fits_subject(deed, subject, near):
        return False
    path = PATH.search(about) is not None
    own = OWN_TEXT.search(about) is not None
    if deed in TOUCHING or (deed is Deed.SAVED and MADE.match(clause)):
        if shows and not path:
            return False
        it = re.match(
            r"(?:fixed|moved)(?: it| that| this)?\s*(?:[.!:,]|$|to\b)", near, re.IGNORECASE
        )
        named = THINGS.search(about) is not None
        return path or (not own and (named or it is not None))
    if deed is Deed.DELETED:
        return path or not (own or (shows and not THINGS.search(about)))
    return True


_SUBJECTS: dict[Deed, Callable[[str, str], bool]] = {
    **dict.fromkeys(
        (Deed.SCHEDULED, Deed.RESTARTED, Deed.RAN),
        lambda _, clause: _says(r"^(?:(?:re)?scheduled|restarted|rebooted|executed)", clause),
    ),
    Deed.BOOKED: lambda subject, clause: (
        _says(r"\border\b", subject) if _says("^placed", clause) else "ordered by" not in clause
    ),
    Deed.REMEMBERED: lambda _, clause: NEEDS[Deed.REMEMBERED].search(clause) is not None,
    Deed.SAVED: lambda subject, clause: (
        not MADE.match(clause)
        or PATH.search(subject + clause) is not None
        or _says(r"\b(?:files?|folder|issue|ticket|event|branch)\b", subject)
    ),
    Deed.PUBLISHED: lambda _, clause: _says(
        r"^(?:published|posted|deployed|pushed|released|merged)", clause
    ),
    Deed.STARTED: lambda subject, clause: (
        NEEDS[Deed.STARTED].search(f"{subject} {clause}") is not None
    ),
}
"""Whether a passive's subject and verb mean the deed, where the verb alone does not tell."""


def _says(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _fits_subject(deed: Deed, subject: str, clause: str) -> bool:
    """Whether a passive's subject is something that the deed is done to."""
    fits = _SUBJECTS.get(deed)
    return fits is None or fits(subject, clause)
