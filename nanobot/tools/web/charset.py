"""Which encoding the text of a page is in."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How far into a page browsers look for it.
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
# What pages that say the left mean, says the WHATWG encoding standard.
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
    """The text of a page: by its byte order mark, else the header's charset, else what the page
    itself says, else UTF-8, else Windows-1252. What fits none is shown as U+FFFD."""
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
    # bytes.decode refuses zip, rot13 and the like itself; these are for Python's own use.
    if codecs.lookup(plain).name.replace("-", "_") in _NOT_ENCODINGS:
        raise LookupError(name)
    return plain


def _is_codec(name: str) -> bool:
    try:
        b"".decode(_python_name(name))
    except (LookupError, UnicodeError):
        return False
    return True
