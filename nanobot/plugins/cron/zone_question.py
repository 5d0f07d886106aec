"""The question for a person's time zone, if neither the configuration nor the machine has one.

The letters of a message may identify a language, and the language a region. That is a guess: the
zone is only proposed, and the question says so if a language has several zones.
"""

from __future__ import annotations

import re

from nanobot.plugins.common.jobs.plans import Job
from nanobot.plugins.common.jobs.service import Jobs
from nanobot.plugins.cron.jobs import when
from nanobot.plugins.cron.schedule import Every
from nanobot.plugins.cron.spoken import chinese_text
from nanobot.text import Sentence

# By letters used only in this language; the first match counts.
_LANGUAGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Japanese", r"[\u3041-\u30ff]", ("Asia/Tokyo",)),
    ("Korean", r"[\uac00-\ud7af]", ("Asia/Seoul",)),
    ("Chinese", r"[\u4e00-\u9fff]", ("Asia/Shanghai", "Asia/Taipei", "Asia/Singapore")),
    ("Thai", r"[\u0e01-\u0e5b]", ("Asia/Bangkok",)),
    ("Hebrew", r"[\u05d0-\u05ea]", ("Asia/Jerusalem",)),
    ("Greek", r"[\u03b1-\u03c9]{2}", ("Europe/Athens", "Asia/Nicosia")),
    ("Georgian", r"[\u10d0-\u10ff]", ("Asia/Tbilisi",)),
    ("Armenian", r"[\u0561-\u0587]", ("Asia/Yerevan",)),
    ("Hindi or Nepali", r"[\u0904-\u0939]", ("Asia/Kolkata", "Asia/Kathmandu")),
    ("Vietnamese", r"[\u01a1\u01b0\u1ea1-\u1ef9]", ("Asia/Ho_Chi_Minh",)),
    (
        "a language in Cyrillic letters",
        r"[\u0430-\u044f]{2}",
        ("Europe/Moscow", "Europe/Kyiv", "Europe/Sofia", "Asia/Almaty"),
    ),
    ("Arabic or Persian", r"[\u0621-\u064a]{2}", ("Africa/Cairo", "Asia/Riyadh", "Asia/Tehran")),
)
_ANYWHERE = ("Europe/London", "America/New_York", "America/Los_Angeles")
_SHOWN = 20


def likely_zones(text: str) -> tuple[str, tuple[str, ...]]:
    """The language of a text and the zones where it is mostly spoken; none for Latin letters, which
    are used everywhere.
    """
    lower = text.lower()
    for language, letters, zones in _LANGUAGES:
        if re.search(letters, lower):
            return language, zones
    return "", ()


def question(text: str, job_id: int, zone: str) -> Sentence:
    """The question to the person who wrote this text, about a job whose times are in `zone`."""
    language, zones = likely_zones(text)
    example = (zones or _ANYWHERE)[0]
    if chinese_text(text) and language == "Chinese":
        return (
            f"时间按 {zone} 计算，因为我不知道您所在的时区。说中文的地方有多个时区，例如 "
            f"{'、'.join(zones)}。您在哪个时区？以 {example} 为例：在聊天中用 `/cron edit {job_id} "
            f"zone={example}` 修改这个任务；在本机用 `nanobot config set agent.zone {example}` "
            "设置全部（重启后生效）。"
        )
    if len(zones) == 1:
        ask = f"You write {language}: is {example} your time zone?"
    elif zones:
        ask = f"{_capital(language)} is spoken in several time zones. Which is yours: {_or(zones)}?"
    else:
        ask = f"Which time zone is yours, for example {_or(_ANYWHERE)}?"
    return (
        f"The times are in {zone}, because I do not know where you are. {ask} For {example}, "
        f"`/cron edit {job_id} zone={example}` in a chat changes this job, and `nanobot config set "
        f"agent.zone {example}` on this machine sets it for everything (after a restart)."
    )


class ZoneQuestion:
    """Asks once, with the first job that uses clock times. Used if the gateway does not know its
    people's zone.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def about(self, job: Job, *, zone_named: bool) -> Sentence:
        """The question to show with a job that was just added; "" if it is not needed."""
        if zone_named or isinstance(when(job.plan), Every):
            return ""
        jobs = await self._jobs.listed(state="", by="", find="", limit=_SHOWN)
        if any(other.id != job.id and other.state != "system" for other in jobs):
            return ""
        return question(job.plan.text, job.id, job.plan.zone)


def _or(zones: tuple[str, ...]) -> str:
    return f"{', '.join(zones[:-1])} or {zones[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
