"""Search terms: the same rules turn stored texts and queries into terms."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from nanobot.text import pattern

MAX_TERMS = 64
"""Maximum number of terms of one query; further terms are ignored."""

SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, and Hangul, whose words end in particles; a range for a
regular expression.
"""
_RUN = pattern(f"([{SPACELESS}]+)")
_ACCENTS = pattern("[\u0300-\u036f]")
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}
_POSSESSIVE = pattern(r"['’]s?(?!\w)")

# Words that carry no meaning for a search.
_EMPTY_WORDS = """
a about an and are as at be been but by can did do does for from had has have he her his how i if in
is it its me my of on or our she should so that the their them they this to us was we were what when
where which who whom whose why will with would you your tell know said
"""
_EMPTY_BIGRAMS = """
什么 怎么 哪里 哪个 哪些 哪天 多少 是谁 是否 有没 没有 为什 时候 的是 了吗 吗的 我的 你的 他的 她的
我们 你们 他们 请问 一下 几点 是什 么时 在哪 谁是 麼時 什麼 怎麼 哪裡 為什 時候 我們 你們 他們
"""
STOP = frozenset(_EMPTY_WORDS.split())
STOP_BIGRAMS = frozenset(_EMPTY_BIGRAMS.split())


def terms_of(text: str) -> str:
    """The terms of a text in order, with spaces between them."""
    return " ".join(_terms(text))


def telling_terms(text: str) -> list[str]:
    """The terms of a text, without duplicates and without words that carry no meaning."""
    terms = dict.fromkeys(_terms(text))
    empty = _STOP_TERMS | STOP_BIGRAMS
    return [term for term in terms if term not in empty]


def _terms(text: str) -> Iterator[str]:
    for word, spaceless in words_of(text):
        if spaceless:
            yield from (word[at : at + 2] for at in range(len(word)))
        else:
            yield stem(word)


def words_of(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of letters and digits, without accents; each with whether its script has no spaces
    between words.
    """
    if text.isascii():  # the same with less work
        plain = _POSSESSIVE.sub(" ", text.casefold())
        for run in plain.translate(_SEPARATORS).split():
            yield run, False
        return
    plain = without_accents(unicodedata.normalize("NFKD", text.casefold()))
    plain = _POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", plain).casefold())
    word = "".join([c if unicodedata.category(c)[0] in "LNM" else " " for c in plain])
    for run in word.split():
        # The matches of the pattern, and the text between them.
        for at, part in enumerate(_RUN.split(run)):
            if part:
                yield part, at % 2 == 1


def without_accents(decomposed: str) -> str:
    """A decomposed text without the accents of European scripts; the marks of other scripts are
    kept.
    """
    return _ACCENTS.sub("", decomposed)


def stem(word: str) -> str:
    """An English word without its most common endings. The result need not be a word: texts and
    queries are stemmed alike.
    """
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            if ending == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word.removesuffix(ending) + instead
            break
    return word.removesuffix("e") if len(word) > 3 else word


_STOP_TERMS = frozenset(stem(word) for word in STOP)
