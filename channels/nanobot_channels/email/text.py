"""The text of a mail: HTML as text, without the history and the signature that mail programs add.

Nothing is removed if nothing would be left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import msgspec
from lxml import etree, html  # type: ignore[import-untyped]

# A line that introduces a quote: "On Monday, Ann wrote:", in any language.
_ATTRIBUTION = re.compile(r"^(?=.*[\d@]).{5,400}[:：]\s*$", re.DOTALL)
_RULE = re.compile(
    r"^\s*-{2,}\s*(original message|original appointment|ursprüngliche nachricht|"
    r"message d'origine|mensaje original|messaggio originale|mensagem original|"
    r"oorspronkelijk bericht|исходное сообщение|原始邮件)\s*-{2,}\s*$",
    re.IGNORECASE,
)
# Outlook's block above a quoted mail: From, then a date, then To or Subject.
_BLOCK = re.compile(
    r"^\*?(from|von|de|da|van|från|fra|от|发件人)\*?\s?[:：].*\n"
    r"(?:^.*\n){0,2}?^\*?(sent|date|gesendet|datum|envoyé|fecha|enviado|inviato|data|verzonden|"
    r"skickat|дата|发送时间)\*?\s?[:：].*\n"
    r"(?:^.*\n){0,3}?^\*?(to|an|à|para|a|aan|till|subject|betreff|objet|asunto|oggetto|assunto|"
    r"onderwerp|ämne|кому|тема|收件人|主题)\*?\s?[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_DEVICE = re.compile(
    r"^(sent from (my|outlook|yahoo|mail for)\b.*|gesendet von (meinem|mein|outlook)\b.*|"
    r"von meinem \w+ gesendet.*|envoyé de mon .*|enviado desde mi .*|inviato da .{1,30}|"
    r"verstuurd vanaf mijn .*|get outlook for (ios|android).*)$",
    re.IGNORECASE,
)
_SIGNATURE_LINES = 20


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS = _names(
    """
    address article aside blockquote body center dd details div dl dt fieldset figure footer
    form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot
    thead tr ul
    """
)
_APART = _names(
    """
    p h1 h2 h3 h4 h5 h6 ul ol table pre blockquote
    """
)
_UNREAD = _names(
    """
    script style head title template noscript object svg math
    """
)
_UNSEEN = re.compile(
    r"<(style|script|head)\b.*?(?:</\1>|$)|<!--.*?(?:-->|$)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^>]{0,2000}>")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(px|;|$)")
_LINK = re.compile(r"(?:https?|mailto|tel):[^\s<>]{1,2000}", re.IGNORECASE)


class MailText(msgspec.Struct, frozen=True):
    """The person's text, and the history included with it."""

    text: str
    history: str = ""


def mail_text(text: str, *, forwarded: bool = False) -> MailText:
    """A mail's text without the mail it answers and without a signature. `forwarded`: the sender
    wants the quoted text to be read.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if forwarded:
        return MailText(text.strip())
    lines = text.split("\n")
    end = min(_quoted_tail(lines), _copied_tail(text))
    own = "\n".join(_unsigned(lines[:end])).strip()
    if not own:
        own = "\n".join(lines[:end]).strip()
    if not own:
        return MailText(text.strip())
    return MailText(own, "\n".join(lines[end:]).strip())


def _quoted_tail(lines: list[str]) -> int:
    """The line after which there are only quotes; quotes between answers are kept."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    # Text below the quotes is kept with them, unless it is a signature.
    foot = _signature(lines[:end])
    if (
        foot is not None
        and _before_blank(lines, foot)
        and lines[_before_blank(lines, foot) - 1][:1] == ">"
    ):
        end = _before_blank(lines, foot)
    if not end or not lines[end - 1].lstrip().startswith(">"):
        return len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith(">")):
        end -= 1
    return _above_attribution(lines, end)


def _before_blank(lines: list[str], end: int) -> int:
    while end and not lines[end - 1].strip():
        end -= 1
    return end


def _above_attribution(lines: list[str], end: int) -> int:
    """The line that introduces the quote is removed too; mail programs break it into up to
    three.
    """
    end = _before_blank(lines, end)
    for size in (3, 2, 1):
        if size <= end and _ATTRIBUTION.match(" ".join(lines[end - size : end])):
            whole = lines[end - size : end]
            if all(line.strip() for line in whole) and (size == 1 or _begins_one(whole[0])):
                return end - size
    return end


def _begins_one(line: str) -> bool:
    return bool(re.match(r"(on|am|le|el|il|op|den|em|w dniu)\b", line.strip(), re.IGNORECASE))


def _copied_tail(text: str) -> int:
    """The line at which a mail program inserted a copy of the answered mail."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if number and _RULE.match(line)]
    block = _BLOCK.search(text)
    if block is not None and text[: block.start()].strip():
        at = text.count("\n", 0, block.start())
        above = _before_blank(lines, at)
        ruled = above and re.fullmatch(r"\s*[_-]{5,}\s*", lines[above - 1])
        starts.append(above - 1 if ruled else at)
    return min(starts, default=len(lines))


def _signature(lines: list[str]) -> int | None:
    """Where the signature begins: at the last "-- ", if it is near the end."""
    for number in range(len(lines) - 1, max(len(lines) - _SIGNATURE_LINES, 0) - 1, -1):
        if lines[number].rstrip("\xa0 ") == "--":
            return number
    return None


def _unsigned(lines: list[str]) -> list[str]:
    end = _before_blank(lines, len(lines))
    foot = _signature(lines[:end])
    if foot is not None:
        end = _before_blank(lines, foot)
    if end and _DEVICE.match(lines[end - 1].strip()):
        end = _before_blank(lines, end - 1)
    return lines[:end]


# HTML


def plain(markup: str) -> str:
    """HTML as text: paragraphs separated, the targets of links after them, quotes marked
    with ">".
    """
    try:
        tree = html.document_fromstring(_without_declaration(markup))
        text = _tidy(_Plain().read(tree))
    except (etree.LxmlError, ValueError, AssertionError):
        text = ""
    # The parser omits elements that are nested too deeply.
    return text or _tidy(unescape(_TAG.sub(" ", _UNSEEN.sub(" ", markup))))


def _without_declaration(markup: str) -> str:
    # The parser refuses text with an encoding declaration.
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", markup.replace("\0", ""))


def _tidy(text: str) -> str:
    text = re.sub(r"[ \t\xa0\u200b\u200c\u034f]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    return re.sub(r"\n(> ?)*\n((> ?)*\n)+", "\n\n", text).strip().replace("\0", " ")


class _Plain:
    """One walk through a tree, without recursion: a sender can nest a mail arbitrarily deep."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._quotes = 0
        self._hidden = 0
        self._pre = 0

    def read(self, tree: html.HtmlElement) -> str:
        for event, element in etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
            if event == "start":
                self._start(element)
            elif event == "end":
                self._end(element)
            if event != "start":
                self._text(element.tail)
        return "".join(self._out)

    def _start(self, element: html.HtmlElement) -> None:
        tag = str(element.tag).lower()
        if tag in _UNREAD or _is_hidden(element):
            self._hidden += 1
        self._pre += tag == "pre"
        if tag == "blockquote":
            self._break(2)
            self._quotes += 1
            self._out.append(self._margin())
        elif tag == "br" or tag in _BLOCKS:
            self._break(2 if tag in _APART else 1)
        if tag == "li":
            self._say("- ")
        elif tag == "img":
            self._say(element.get("alt") or "")
        self._text(element.text)

    def _end(self, element: html.HtmlElement) -> None:
        tag = str(element.tag).lower()
        if tag == "a":
            self._target(element)
        elif tag in {"td", "th"}:
            self._say(" | " if element.getnext() is not None else "")
        if tag == "blockquote":
            self._quotes -= 1
        if tag in _BLOCKS:
            self._break(2 if tag in _APART else 1)
        self._pre -= tag == "pre"
        if tag in _UNREAD or _is_hidden(element):
            self._hidden -= 1

    def _target(self, element: html.HtmlElement) -> None:
        target = (element.get("href") or "").strip()
        label = "".join(element.itertext()).strip()
        if _LINK.fullmatch(target) and label not in {target, target.removeprefix("mailto:")}:
            self._say(f" ({target})" if label else target)

    def _text(self, text: str | None) -> None:
        if not text:
            return
        if self._pre:
            # The parser accepts no zero byte: here it marks a significant space.
            self._say(text.replace(" ", "\0").replace("\n", f"\n{self._margin()}"))
        else:
            self._say(re.sub(r"\s+", " ", text))

    def _say(self, text: str) -> None:
        if text and not self._hidden:
            self._out.append(text)

    def _break(self, lines: int) -> None:
        if not self._hidden:
            self._out.append(f"\n{self._margin()}" * lines)

    def _margin(self) -> str:
        return "> " * min(self._quotes, 10)


def _is_hidden(element: html.HtmlElement) -> bool:
    """Whether mail programs would hide it, such as a preview text."""
    return bool(_HIDDEN.search((element.get("style") or "").lower()))


def paragraphs(texts: Iterator[str]) -> str:
    """The non-blank texts, separated by empty lines."""
    return "\n\n".join(text.strip() for text in texts if text.strip())
