"""Shell words: removing quotes, expanding braces, and splitting values."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from nanobot.text import pattern

# Stand-ins for the special characters of a word while it is encoded; none of them occurs in a text.
OPEN, COMMA, CLOSE, SPLIT, COMPUTED, JOIN = "\ue000\ue001\ue002\ue003\ue004\ue005"
_MARKS = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}", SPLIT: " ", COMPUTED: "", JOIN: ""})
_BRACES = str.maketrans({"{": OPEN, ",": COMMA, "}": CLOSE})
_FOREIGN = pattern(f"[{OPEN}-{JOIN}]")
_MOST_FIELDS = 256
_ANSI = pattern(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|.)", re.DOTALL)
_ANSI_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "0": "\0"}
_FORMAT = pattern(r"%[-+ #0-9.*]*([a-zA-Z%])")


class Word(msgspec.Struct, frozen=True):
    """A word after quote removal. `computed`: the word is only known at run time; `text` is its
    known part, with `~` for the home and `.` for the working directory.
    """

    text: str
    computed: bool = False


def literal(text: str) -> str:
    """A text that is taken literally."""
    return _FOREIGN.sub("\ufffd", text)


def bare(text: str) -> str:
    """A text as it appears on the line, without quotes."""
    pieces = re.split(r"\\(.)", literal(text.replace("\\\n", "")), flags=re.DOTALL)
    return "".join(piece if at % 2 else piece.translate(_BRACES) for at, piece in enumerate(pieces))


def value(words: list[Word], *, quoted: bool, listed: bool) -> str:
    """The value of a variable where it is used. Without quotes it splits at spaces; a list whose
    members are requested (`listed`) splits between them.
    """
    texts = [COMPUTED * word.computed + literal(word.text) for word in words]
    if quoted:
        return JOIN + (SPLIT if listed else " ").join(texts)
    return SPLIT.join(re.sub(r"\s+", SPLIT, text) for text in texts)


def fields(encoded: str) -> list[Word]:
    """The words that one encoded word becomes."""
    whole = list(_expanded(encoded))
    texts = [
        text
        for expansion in whole
        for text in expansion.split(SPLIT)
        if text or SPLIT not in expansion
    ]
    return [_word(text) for text in texts[:_MOST_FIELDS]]


def one_word(encoded: str) -> Word:
    """The value as a single word, as in an assignment."""
    return _word(encoded)


def _word(encoded: str) -> Word:
    return Word(encoded.translate(_MARKS), COMPUTED in encoded)


def _expanded(text: str) -> Iterator[str]:
    """The texts from expanding the braces, one for each combination."""
    waiting, count = [text], 0
    while waiting and count < _MOST_FIELDS:
        current = waiting.pop()
        close = current.find(CLOSE)
        start = current.rfind(OPEN, 0, close) if close >= 0 else -1
        if start < 0:
            count += 1
            yield current.replace(CLOSE, "}")
            continue
        before, inside, after = current[:start], current[start + 1 : close], current[close + 1 :]
        choices = inside.split(COMMA)
        if len(choices) == 1:
            waiting.append(f"{before}{{{inside}}}{after}")
        else:
            waiting += [f"{before}{choice}{after}" for choice in reversed(choices)]


def unescaped(text: str) -> str:
    """A text with its escapes resolved (as in `$'...'`, `printf` and `echo -e`)."""
    return _ANSI.sub(_character, text)


def formatted(words: list[str]) -> str:
    """The output of `printf` for a format and its arguments."""
    if not words:
        return ""
    arguments = iter(words[1:])

    def filled(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        argument = next(arguments, "")
        return unescaped(argument) if match[1] == "b" else argument

    printed = ""
    for _ in range(max(1, min(len(words), 20))):
        printed += _FORMAT.sub(filled, unescaped(words[0]))
        if not _FORMAT.search(words[0]) or (rest := next(arguments, None)) is None:
            return printed
        arguments = iter([rest, *arguments])
    return printed


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code.isdecimal() and code not in _ANSI_NAMED:
        return chr(int(code, 8) & 0xFF)
    return _ANSI_NAMED.get(code, code)
