"""The sentences of an answer in which the assistant itself speaks: no code, quotations, drafts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MOST = 20_000
"""So many characters of an answer are read."""

_FENCE = re.compile(
    r"^\s*(?:```|~~~)[^\n]*\n.*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』")
_CODE = re.compile(r"`([^`\n]{1,200})`")
_DRAFT = re.compile(
    r"^(?:\**(?:subject|betreff)\**:|dear\b[^\n]{0,60},?\s*$|(?:hi|hello|hey) [A-Z][^\n]{0,40},\s*$"
    r"|主题[::]|尊敬的[^\n]{0,40}[::,,]\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_AFTER_DRAFT = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,})\s*$", re.MULTILINE)
_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。!?;!?])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+")
_WRAPPED = re.compile(r"(?<=[a-z,])\n(?=[a-z(])")
_DONE = re.compile(
    r"\b(?:i did|i(?:'ve| have) done|did for you|what was done)\b|完成了|做了", re.IGNORECASE
)


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence. `bullet`: an item of a list; `under`: the line above the list. `shown`: the
    words that people read."""

    text: str
    shown: str
    bullet: bool = False
    under: str = ""

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"')").endswith(("?", "?"))

    @property
    def of_what_was_done(self) -> bool:
        """Whether it is an item of a list of the assistant's own deeds."""
        return bool(_DONE.search(self.under))


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it is read. `shows`: it contains a text or code that was made for the person,
    so that some deeds are about that."""

    sentences: tuple[Sentence, ...]
    shows: bool


def spoken(answer: str) -> Spoken:
    """The sentences of an answer."""
    answer = answer[:MOST].replace("’", "'")
    text = _FENCE.sub("\n", answer)
    shows = text != answer
    text = _without_drafts(text)
    text = _QUOTED_LINE.sub("", text)
    sentences = tuple(_sentences(text))
    shows = shows or any(_introduces(sentence) for sentence in sentences)
    return Spoken(sentences=sentences, shows=shows)


def _introduces(sentence: Sentence) -> bool:
    """Whether a text follows that the sentence is about: "here it is:"."""
    return sentence.text.endswith((":", ":")) and not sentence.bullet


def _without_drafts(text: str) -> str:
    """Without letters that are proposed: from their first line to a rule, or to the end."""
    kept = ""
    while (draft := _DRAFT.search(text)) is not None:
        kept += text[: draft.start()] + "\n"
        end = _AFTER_DRAFT.search(text, draft.end())
        if end is None:
            return kept
        text = text[end.end() :]
    return kept + text


def _sentences(text: str) -> Iterator[Sentence]:
    under = ""
    for line in _WRAPPED.sub(" ", text).splitlines():
        if not line.strip() or line.lstrip().startswith(("|", "#")):
            continue
        bullet = _BULLET.match(line) is not None
        said = _BULLET.sub("", line).strip().lstrip("✅✔☑️👍🎉 ").replace("**", "")
        for piece in _END.split(said):
            read = _CODE.sub(_code, _QUOTED.sub("QUOTE", piece or "")).strip()
            if read:
                shown = (piece or "").strip()
                above = under if bullet else ""
                yield Sentence(text=read, shown=shown, bullet=bullet, under=above)
        if not bullet:
            under = line


def _code(match: re.Match[str]) -> str:
    """Code in a sentence: a path stays one."""
    inside = match[1]
    return (
        inside if re.fullmatch(r"[\w~][\w./~-]*", inside) and re.search(r"[./]", inside) else "CODE"
    )
