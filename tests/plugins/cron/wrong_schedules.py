"""Schedules that are wrong by the way they are made, and what a refusal of one has to say."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import parse

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_QUOTED = re.compile(r"`([^`]+)`")

Maker = Callable[[random.Random], str]


def _fields(dice: random.Random) -> list[str]:
    return [dice.choice(["*", str(dice.randint(*limits))]) for limits in _LIMITS]


def _with(dice: random.Random, at: int, field: str) -> str:
    fields = ["0", "9", "*", "*", "*"] if at > 1 else _fields(dice)
    fields[at] = field
    return " ".join(fields)


def _beyond(dice: random.Random) -> str:
    at = dice.randrange(5)
    return _with(dice, at, str(_LIMITS[at][1] + dice.randint(1, 60)))


def _backwards(dice: random.Random) -> str:
    at = dice.randrange(5)
    low = dice.randint(_LIMITS[at][0], _LIMITS[at][1] - 1)
    return _with(dice, at, f"{dice.randint(low + 1, _LIMITS[at][1])}-{low}")


def _stepless(dice: random.Random) -> str:
    return _with(dice, dice.randrange(5), f"*/{dice.choice(['0', 'x', '-1', ''])}")


def _named_wrongly(dice: random.Random) -> str:
    at = dice.choice([3, 4])
    return _with(dice, at, dice.choice(["JULY", "mo", "foo", "juli", "tues", "L"]))


def _foreign_signs(dice: random.Random) -> str:
    at = dice.choice([2, 4])
    return _with(dice, at, dice.choice(["15W", "LW", "?", "L-3", "fri#6", "1#0"]))


def _miscounted(dice: random.Random) -> str:
    return " ".join(str(dice.randint(1, 7)) for _ in range(dice.choice([2, 3, 4, 6, 7])))


def _no_such_day(dice: random.Random) -> str:
    day, month = dice.choice([("30", "2"), ("31", "4"), ("31", "6,9"), ("30-31", "feb")])
    return f"{dice.randint(0, 59)} {dice.randint(0, 23)} {day} {month} *"


def _too_often(dice: random.Random) -> str:
    return dice.choice([f"every {dice.randint(1, 9)} seconds", "every second", "every 9s"])


def _too_long(dice: random.Random) -> str:
    days = dice.randint(3_661, 10**9)
    return dice.choice([f"every {days} days", f"+{days}d", f"in {days} days"])


def _backward_span(dice: random.Random) -> str:
    number = dice.randint(1, 99)
    return dice.choice([f"every -{number} minutes", f"+-{number}m", "+0s", "every 0 hours"])


def _spanless(dice: random.Random) -> str:
    return dice.choice(["+20x", "+", "every 1e9 days", "+20 fortnights", "every now and then"])


def _passed(dice: random.Random) -> str:
    return f"{dice.randint(1971, 2020)}-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}T09:00"


def _no_such_date(dice: random.Random) -> str:
    day = dice.choice(["2031-02-30", "2031-04-31", "2031-13-01", "2031-00-10"])
    return dice.choice([f"{day}T09:00", day])


def _no_such_time(dice: random.Random) -> str:
    return dice.choice(["2031-02-03T25:00", "2031-02-03T09:61", "2031-02-03 nine"])


def _too_far(_dice: random.Random) -> str:
    return "9999-12-31T23:59"


def _unknown_words(dice: random.Random) -> str:
    return dice.choice(
        [
            "when it rains",
            "every full moon at 9",
            "soon",
            "tomorrow",
            "next month",
            "每天25点",
            "有空的时候",
            "every weekday at 25",
            "every 99th of the month at 9",
            "monday",
            "@often",
            "H H * * *",
            "R * * * *",
        ]
    )


def _damaged(dice: random.Random) -> str:
    return dice.choice(["* * * * * * * *", ", , , , ,", "/ / / / /", "- - 1 - -", "#1 # * * *"])


def _long(dice: random.Random) -> str:
    return ",".join(["99"] * dice.choice([100, 400])) + " * * * *"


MAKERS: tuple[Maker, ...] = (
    _beyond,
    _backwards,
    _stepless,
    _named_wrongly,
    _foreign_signs,
    _miscounted,
    _no_such_day,
    _too_often,
    _too_long,
    _backward_span,
    _spanless,
    _passed,
    _no_such_date,
    _no_such_time,
    _too_far,
    _unknown_words,
    _damaged,
    _long,
)


def wrong_schedules(each: int, seed: int = 1) -> Iterator[str]:
    """So many of every kind, the same for the same seed."""
    dice = random.Random(seed)
    for maker in MAKERS:
        yield from (maker(dice) for _ in range(each))


def assert_refused(said: str, schedule: str, now: float, *, named: int = 40) -> None:
    """It is one short sentence or two for a person, which names the schedule (so many characters of
    it) and shows in backquotes one that is taken instead."""
    where = f"{schedule[:60]!r} was answered with {said[:500]!r}"
    assert "Traceback" not in said, where
    assert 0 < len(said) < 700, where
    assert said.rstrip().endswith((".", "?", ")")), where
    assert _plain(schedule)[:named] in _plain(said), f"does not name it: {where}"
    assert any(_taken(each, now) for each in _QUOTED.findall(said)), f"no remedy: {where}"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _taken(text: str, now: float) -> bool:
    try:
        parse(text, "UTC", now)
    except UsageError:
        return False
    return True


def ends_itself(schedule: str) -> bool:
    """Whether it is as wrong with words behind it: with numbers too many, or a word behind a date,
    the words are what is to be done."""
    return not re.fullmatch(r"[\d ]+|[\d-]+ [a-z]+", schedule)
