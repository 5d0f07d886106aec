"""Links of Markdown files of the repository, rewritten for the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|!\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^#|^/")


def rewritten(markdown: str, source: str, page: str, pages: Mapping[str, str]) -> str:
    """The text of the file `source` with links that hold at the address `page` of the site.

    `pages` maps paths in the repository to paths in the site. A link to a file that the site lacks
    becomes its text.
    """

    def replace(match: re.Match[str]) -> str:
        picture = match[1] is None
        label, target = (match[3], match[4]) if picture else (match[1], match[2])
        if _ELSEWHERE.match(target):
            return match[0]
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        known = pages.get(path)
        if known is None:
            return label
        relative = posixpath.relpath(known, posixpath.dirname(page) or ".")
        return f"{'!' if picture else ''}[{label}]({relative}{'#' + anchor if anchor else ''})"

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else _LINK.sub(replace, line))
    return "\n".join(lines)
