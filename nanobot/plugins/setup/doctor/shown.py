"""`nanobot doctor` and `nanobot config check`: one line per problem."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping

from nanobot.cli.logs import to_stderr
from nanobot.errors import ConfigError
from nanobot.operations.home import Finding
from nanobot.plugins.common.chinese_lines import folded
from nanobot.plugins.common.commands.output import Line, Style, document, say
from nanobot.plugins.common.widths import padded, wrapped
from nanobot.plugins.setup.doctor.checks import everything, mended
from nanobot.plugins.setup.doctor.configuration import configuration
from nanobot.plugins.setup.doctor.mendable import Mendable
from nanobot.texts import ENGLISH, language_of_terminal, translated

_MARGIN, _NARROWEST = 24, 30
_STYLES: Mapping[str, Style] = {"ok": "green", "warning": "yellow", "broken": "red"}


def checked(environ: Mapping[str, str], *, json: bool) -> int:
    """`config check`: every mistake, including unknown keys; returns the exit code."""
    to_stderr(environ, "ERROR")
    findings, _ = configuration(environ)
    _tell(findings, language_of_terminal(environ), json=json)
    return ConfigError.exit_code if any(finding.level != "ok" for finding in findings) else 0


def examine(environ: Mapping[str, str], *, fix: bool, store: bool, json: bool) -> int:
    """`doctor`: every check, with `store` also each row of it; returns 1 if something is broken."""
    to_stderr(environ, "ERROR")
    return asyncio.run(_examine(environ, fix=fix, store=store, json=json))


async def _examine(environ: Mapping[str, str], *, fix: bool, store: bool, json: bool) -> int:
    every: list[Finding] = []
    async for examined in everything(environ, rows=store):
        finding = examined
        if isinstance(examined, Mendable):
            finding = mended(examined) if fix else examined.finding
        if isinstance(finding, Finding):
            every.append(finding)
            if not json:
                _tell([finding], language_of_terminal(environ), json=False)
    if json:
        _tell(every, ENGLISH, json=True)
    return 1 if any(finding.level == "broken" for finding in every) else 0


def _tell(findings: list[Finding], language: str, *, json: bool) -> None:
    if json:
        document(findings)
        return
    for finding in findings:
        text = _said(finding, language)
        lines = wrapped if language == ENGLISH else folded
        first, *more = lines(text, _room()) if sys.stdout.isatty() else [text]
        level, about = (
            padded(translated(word, language, within=True), width)
            for word, width in ((finding.level, 7), (finding.about, 13))
        )
        say(Line(level, _STYLES[finding.level], f"  {about}  {first}"))
        for line in more:
            say(" " * _MARGIN + line)


def _said(finding: Finding, language: str) -> str:
    if language == ENGLISH:
        return finding.sentences
    text, remedy = (translated(each, language) for each in (finding.text, finding.remedy))
    return f"{text.removesuffix('。')}。{remedy}" if remedy else text


def _room() -> int:
    return max(shutil.get_terminal_size((80, 24)).columns - _MARGIN, _NARROWEST)
