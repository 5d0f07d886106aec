"""Detects where a text begins to repeat itself, as small models' answers do."""

from __future__ import annotations

import re
from collections import defaultdict

# Words of letters; scripts without spaces count per character. Numbers are left out, so that list
# items with the same text are equal.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+")
# Consecutive emoji that carry no meaning any more, with their joiners.
_FLOOD = re.compile(r"(?:[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\u200d\s]*){9,}")
_FLOOD_CHARS = 40
_PHRASE_WORDS = 5
_MOST = 3
# The rest of a list item whose text was cut.
_BARE_POINT = re.compile(r"\n[\s\d.)*•#_\"'(-]*\Z")


class LoopWatch:
    """Checks a text as it grows. `shown` is how much of it is certainly no repetition; `cut` is the
    text without its loop, or None until the same phrase of five words occurs a fourth time, the
    same word a sixth time in a row, or nine emoji in a row.
    """

    def __init__(self) -> None:
        self.text = ""
        self.shown = 0
        self.cut: str | None = None
        self._places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._words: list[tuple[str, int, int]] = []
        self._read = 0
        self._repeated_from: int | None = None

    def add(self, piece: str) -> str:
        """The additional text that may be shown now."""
        self.text += piece
        for match in _WORD.finditer(self.text, self._read):
            if self.cut is not None or (match.end() == len(self.text) and piece):
                break  # a word may still continue
            self._words.append((match[0].lower(), match.start(), match.end()))
            self._look()
            self._read = match.end()
        flood = _FLOOD.search(self.text, self.shown and max(self.shown - _FLOOD_CHARS, 0))
        if self.cut is None and flood is not None:
            self.cut = self.text[: max(flood.start() + 1, self.shown)]
        if self.cut is not None:
            return self._show(len(self.cut))
        if self._repeated_from is not None:
            return self._show(self._repeated_from)
        return self._show(self._before_the_last_words())

    def end(self) -> str:
        """The same at the end of the text."""
        shown = self.add("")
        return shown + self._show(len(self.text) if self.cut is None else len(self.cut))

    def _show(self, upto: int) -> str:
        start, self.shown = self.shown, max(self.shown, upto)
        return self.text[start : self.shown]

    def _before_the_last_words(self) -> int:
        """The end of the text before the last words, which may begin a repeated phrase."""
        return self._words[-_PHRASE_WORDS - 1][2] if len(self._words) > _PHRASE_WORDS else 0

    def _look(self) -> None:
        last = self._words[-_PHRASE_WORDS:]
        if len(last) < _PHRASE_WORDS:
            return
        phrase = tuple(word for word, _, _ in last)
        places = self._places[phrase]
        places.append(last[0][1])
        if len(places) == 1:
            self._repeated_from = None
            return
        if self._repeated_from is None:
            self._repeated_from = self._before_the_last_words()
        if len(places) > (_MOST if len(set(phrase)) > 1 else 1):
            whole = _BARE_POINT.sub("", self.text[: places[1]])
            self.cut = self.text[: max(len(whole), self.shown)]


def without_loop(text: str) -> str:
    """The text up to where it begins to repeat itself; all of it if it does not."""
    watch = LoopWatch()
    watch.add(text)
    watch.end()
    return text if watch.cut is None else watch.cut
