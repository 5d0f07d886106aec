"""Detects the encoding of a page's text."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How far into a page browsers look for a declaration.
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
# Pages that declare the left encoding mean the right one, according to the WHATWG encoding
# standard.
_MEANT = {
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
}
_NOT_ENCODINGS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
)


def decoded(data: bytes, declared: str | None) -> str:
    """The text of a page, decoded by its byte order mark, otherwise the header's charset, otherwise
    its own declaration, otherwise UTF-8, otherwise Windows-1252. Invalid bytes become U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    names = [declared or "", *(match[1].decode() for match in _declarations(data[:4096]))]
    for name in [*names, "utf-8"]:
        try:
            return data.decode(_python_name(name))
        except (LookupError, UnicodeError):
            continue
    charset = next((name for name in names if _is_codec(name)), "cp1252")
    return data.decode(_python_name(charset), "replace")


def _declarations(head: bytes) -> list[re.Match[bytes]]:
    return [match for match in (_XML.search(head), _META.search(head)) if match]


def _python_name(name: str) -> str:
    plain = name.strip().strip("\"'").lower()
    plain = _MEANT.get(plain, plain)
    # bytes.decode rejects zip, rot13 and so on itself; these are for Python's internal use.
    if codecs.lookup(plain).name.replace("-", "_") in _NOT_ENCODINGS:
        raise LookupError(name)
    return plain


def _is_codec(name: str) -> bool:
    try:
        b"".decode(_python_name(name))
    except (LookupError, UnicodeError):
        return False
    return True
