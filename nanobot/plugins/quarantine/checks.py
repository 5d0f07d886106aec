"""What doctor says of rows: with `--store`, it reads every one as the gateway would."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.common.faces import EveryRow
from nanobot.plugins.quarantine.store import at_rest
from nanobot.store.servers import url_of

_MOST = 50


def checks(config: Config, every_row: EveryRow) -> list[Finding]:
    """Unreadable rows, and the contents of the quarantine."""
    if not every_row:
        return []
    try:
        url = url_of(config)
        unreadable = at_rest.unreadable(url)
        kept = at_rest.listed(url, table="", restored=False, limit=1_000)
    except NanobotError as error:
        return [Finding(about="rows", level="broken", text=str(error))]
    findings = [
        Finding(
            about="rows",
            level="broken",
            text=f"{row.table} {row.key} cannot be read: {row.column}: {row.reason}",
            remedy="The gateway moves it into quarantine when it needs the row",
        )
        for row in unreadable[:_MOST]
    ]
    if len(unreadable) > _MOST:
        more = len(unreadable) - _MOST
        text = f"{more} more rows cannot be read" if more > 1 else "1 more row cannot be read"
        findings.append(Finding(about="rows", level="broken", text=text))
    if kept:
        text = f"{len(kept)} row(s) are in quarantine"
        remedy = "`nanobot db quarantine list` names them"
        findings.append(Finding(about="rows", level="warning", text=text, remedy=remedy))
    return findings or [Finding(about="rows", level="ok", text="every row can be read")]
