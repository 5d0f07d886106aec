"""Schedules in Chinese: 每个工作日9点, 明天18:00, 每月第一个星期一下午3点."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from nanobot.plugins.cron.phrases import (
    NO_TIME,
    NO_WORKDAY_OF_MONTH,
    Days,
    Incomplete,
    Interval,
    Later,
    Meaning,
    Phrase,
    Scanner,
    TimeOfDay,
    between,
    combined,
    coming_weekday,
    dated,
    day_of_month,
    in_part,
    next_time,
    reach,
    weekday_of_week,
)

# Replaced one by one, so that lengths do not change.
_PLAIN = str.maketrans(
    "０１２３４５６７８９：，個點號鐘週後禮兩時過從間隔晝開",
    "0123456789:,个点号钟周后礼两时过从间隔昼开",
)
_DIGITS = "零一二三四五六七八九"
_HAN = r"[零〇一二两三四五六七八九十]"
_N = rf"(?:\d{{1,6}}|{_HAN}{{1,3}})"
_SECONDS = {"秒": 1, "分": 60, "小": 3_600, "钟": 3_600, "天": 86_400, "日": 86_400}
_WEEK = r"(?:周|星期|礼拜)"
_UNIT = rf"秒钟?|分钟|小时|钟头|天|{_WEEK}"
_DAY = r"[一二三四五六日天]"
_DAYS = "日一二三四五六"
_PARTS = {
    "凌晨": "early",
    "清晨": "morning",
    "早上": "morning",
    "早晨": "morning",
    "上午": "morning",
    "中午": "noon",
    "正午": "noon",
    "下午": "afternoon",
    "傍晚": "evening",
    "晚上": "evening",
    "晚间": "evening",
    "夜里": "night",
    "午夜": "midnight",
    "半夜": "midnight",
    "早": "morning",
    "晚": "evening",
}
_PART = "|".join(_PARTS)
_AND = r"(?:、|和|及|跟|,)"
_TO = r"(?:到|至|-|~|—)"


def read(text: str, now: datetime) -> Phrase | None:
    """The schedule that a text begins with; `now` is local time (naive)."""
    found = []
    for rule in (_later, _interval, _days_and_times):
        scan = Scanner(text.translate(_PLAIN), r"[\s,]*")
        meaning = rule(scan, now)
        if meaning is not None:
            found.append(Phrase(meaning, scan.at))
    return max(found, key=reach, default=None)


def _later(scan: Scanner, now: datetime) -> Meaning | None:
    """20分钟后, 半小时后, 一个半小时后, 三天后早上9点."""
    scan.take("再?过|在")
    total = 0.0
    while part := scan.take(rf"(半)个?({_UNIT})|({_N})个?(半)?({_UNIT})(半)?"):
        size = _size(part[2] or part[5])
        total += size / 2 if part[1] else _number(part[3]) * size
        total += size / 2 if part[4] or part[6] else 0
    if not total or not scan.take("之后|以后|后(?!天)"):
        return None
    if total % 86_400 == 0:
        days = Days(once=(now + timedelta(seconds=total)).date())
        meaning = _timed(scan, days)
        if not isinstance(meaning, Incomplete):
            return meaning
    return Later(total)


def _interval(scan: Scanner, _: datetime) -> Meaning | None:
    """每2小时, 每半小时, 每隔30分钟, 每天9点到17点每小时."""
    found = scan.take(rf"每(隔)?(?:(半)个?|({_N})个?(半)?|个)?({_UNIT})(?!{_DAY}(?!起))")
    if found is None:
        return None
    size = _size(found[5])
    every = 0.5 if found[2] else _number(found[3] or "1") + (0.5 if found[4] else 0)
    if found[1] and size >= 86_400:
        if every != 1:
            return Incomplete("may count in two ways: write 每3天, or name the days")
        every = 2
    if size in {60, 3_600} and (hours := _window(scan)):
        minutes = int(every * size / 60)
        count, unit = (minutes // 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
        return between(count, unit, *hours, Days())
    return Interval(every * size) if every else None


def _window(scan: Scanner) -> tuple[TimeOfDay, TimeOfDay] | None:
    before = scan.at
    scan.take("从")
    first = _time(scan)
    if first and scan.take(_TO) and (last := _time(scan)):
        return first[1], last[1]
    scan.at = before
    return None


def _days_and_times(scan: Scanner, now: datetime) -> Meaning | None:
    days = _days(scan, now)
    if days is not None:
        return _timed(scan, days)
    before = scan.at
    first = _time(scan)
    if first is None or not first[0]:
        return next_time([first[1]], now) if first else None
    scan.at = before
    moment = _timed(scan, Days(once=now.date()))
    shown = getattr(moment, "shown", None)
    if shown is None or shown > now:
        return moment
    return msgspec.structs.replace(moment, shown=shown + timedelta(days=1))


def _timed(scan: Scanner, days: Days) -> Meaning:
    """The days with the times that follow; each time may include its part of the day."""
    start, times = scan.at, _window(scan)
    if times and (every := scan.take(rf"每(?:(半)个?|({_N})?个?)(分钟|小时)")):
        minutes = 30 if every[1] else _number(every[2] or "1") * _size(every[3]) // 60
        count, unit = (minutes // 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
        return between(count, unit, *times, days)
    scan.at = start
    if not days.part and (part := scan.take(rf"的?({_PART})")):
        days = msgspec.structs.replace(days, part=_PARTS[part[1]])
    said: list[TimeOfDay] = []
    part_said = days.part
    while not said or scan.take(_AND):
        before, found = scan.at, _time(scan)
        if found is None:
            scan.at = before
            break
        part_said = found[0] or part_said
        exact = in_part(found[1], part_said)
        if exact is None:
            return Incomplete("has a time that is not in that part of the day")
        said.append(exact)
    if not said and days.part == "early":
        return Incomplete(NO_TIME)
    return combined(msgspec.structs.replace(days, part="") if said else days, said)


def _time(scan: Scanner) -> tuple[str, TimeOfDay] | None:
    """A time, with its part of the day: 早上9点, 9点半, 9:30, 九点一刻, 零点."""
    before = scan.at
    part = scan.take(rf"({_PART})(?=\s*(?:\d|{_HAN}))")
    named = _PARTS[part[1]] if part else ""
    found = scan.take(
        rf"({_N})(?:点钟?|时)(?:(半)|([一三])刻|整|(\d{{1,2}})分?|([二三四五]?十{_HAN}?)(?!个)分?"
        rf"|零?({_HAN})分)?"
    )
    if found is not None:
        minute = 30 if found[2] else {"一": 15, "三": 45}.get(found[3] or "", 0)
        spoken = found[4] or found[5] or found[6]
        clock = TimeOfDay(_number(found[1]), _number(spoken) if spoken else minute)
    elif plain := scan.take(r"(\d{1,2}):(\d\d)(?!:?\d)"):
        clock = TimeOfDay(int(plain[1]), int(plain[2]))
    elif not named and scan.take("中午|正午"):
        clock = TimeOfDay(12, exact=True)
    elif not named and scan.take("午夜|半夜"):
        clock = TimeOfDay(24, exact=True)
    else:
        scan.at = before
        return None
    if clock.hour > 24 or clock.minute > 59 or (clock.hour == 24 and clock.minute):
        scan.at = before
        return None
    return named, clock


# Days


def _days(scan: Scanner, now: datetime) -> Days | None:
    """The next days in the text."""
    for rule in (_month_days, _week_days, _one_day):
        before = scan.at
        days = rule(scan, now)
        if days is not None:
            return days
        scan.at = before
    return None


def _month_days(scan: Scanner, _: datetime) -> Days | None:  # noqa: C901, PLR0911 - one for each form
    """每月1号和15号, 每月最后一天, 每月第一个星期一, 每年12月24日."""
    if found := scan.take(rf"每年的?({_N})月({_N})[号日]"):
        return Days(month=str(_number(found[1])), month_day=str(_number(found[2])))
    if not scan.take("每个?月的?"):
        return None
    if scan.take("最后一天|月底|月末"):
        return Days(month_day="L")
    if scan.take(rf"(?:第{_N}|最后一)个?工作日"):
        return Days(problem=NO_WORKDAY_OF_MONTH)
    if found := scan.take(rf"(?:第({_N})个?|(最后一个?)){_WEEK}({_DAY})"):
        day, nth = _weekday(found[3]), 0 if found[2] else _number(found[1])
        if nth > 5:
            return Days(problem="counts further than the days of a month")
        return Days(weekday=f"{day}#{nth}" if nth else f"{day}L")
    if found := scan.take(rf"第({_N})天"):
        return Days(month_day=str(_number(found[1])))
    first = scan.take(rf"({_N})[号日]?(?=[、和及,号日]|(?<=[号日]))")
    if first is None:
        return Days(problem="names no day of the month")
    numbers = [_number(first[1])]
    while following := scan.take(rf"{_AND}({_N})[号日]?(?!\d|:|点)"):
        numbers.append(_number(following[1]))
    if not all(1 <= number <= 31 for number in numbers):
        return Days(problem="has a day that no month has")
    return Days(month_day=",".join(map(str, sorted(set(numbers)))))


def _week_days(scan: Scanner, _: datetime) -> Days | None:  # noqa: PLR0911 - one for each form
    """每天, 每个工作日, 周一到周五, 每周一、三、五, 每晚."""
    if scan.take("(?:每个?)?(?:工作日|平日)"):
        return Days(weekday="1-5")
    if scan.take("每个?周末|每逢周末"):
        return Days(weekday="0,6")
    if found := scan.take(rf"(?:每天?)?(?:从)?{_WEEK}({_DAY}){_TO}{_WEEK}?({_DAY})"):
        first, last = _weekday(found[1]), _weekday(found[2])
        numbers = sorted((first + ahead) % 7 for ahead in range((last - first) % 7 + 1))
        spans = first <= last
        return Days(weekday=f"{first}-{last}" if spans else ",".join(map(str, numbers)))
    if scan.take("每(?:一?天|日)|天天"):
        return Days()
    if found := scan.take(rf"每个?({_PART})"):
        return Days(part=_PARTS[found[1]])
    first_day = scan.take(rf"每[个逢]?{_WEEK}的?{_WEEK}?({_DAY})")
    if first_day is None:
        return None
    numbers = [_weekday(first_day[1])]
    while following := scan.take(
        rf"(?:{_AND}每?{_WEEK}?|{_WEEK}|(?=[一二三四五六日]))({_DAY})(?!点|时|个|十|[月号日])"
    ):
        numbers.append(_weekday(following[1]))
    return Days(weekday=",".join(map(str, sorted(set(numbers)))))


def _one_day(scan: Scanner, now: datetime) -> Days | None:
    """今天, 明早, 后天, 周五, 下周一, 12月24日, 下个月1号."""
    ahead = {"今": 0, "明": 1, "后": 2, "大": 3}
    if found := scan.take(
        r"(?:(今|明)(?:(?:天|日)的?)?(早上|早|晚上|晚)|(今|明|后)(?:天|日)|(大)后天)"
    ):
        day = now.date() + timedelta(days=ahead[found[1] or found[3] or found[4]])
        return Days(once=day, part=_PARTS[found[2]] if found[2] else "")
    if found := scan.take(rf"(这|本|下下|下)个?{_WEEK}({_DAY})"):
        weeks = {"下": 1, "下下": 2}.get(found[1], 0)
        return Days(once=weekday_of_week(_weekday(found[2]), weeks, now))
    if found := scan.take(rf"{_WEEK}({_DAY})"):
        return Days(once=coming_weekday(_weekday(found[1]), now, after_today=False))
    if found := scan.take(rf"(?:(20\d\d)年)?({_N})月({_N})[号日]"):
        year = int(found[1]) if found[1] else None
        return dated(year, _number(found[2]), _number(found[3]), now)
    if found := scan.take(rf"(?:(下)个?月|(?:本|这个)月)?({_N})号"):
        return day_of_month(_number(found[2]), now, 1 if found[1] else None)
    return None


# Words


def _number(word: str) -> int:
    """A number in digits or characters, up to 99."""
    if word.isdigit():
        return int(word)
    plain = word.replace("两", "二").replace("〇", "零")
    tens, ten, ones = plain.rpartition("十")
    if not ten:
        return int("".join(str(_DIGITS.index(digit)) for digit in plain))
    return 10 * (_number(tens) if tens else 1) + (_number(ones) if ones else 0)


def _size(unit: str) -> int:
    return _SECONDS.get(unit[0], 7 * 86_400)


def _weekday(word: str) -> int:
    return _DAYS.index(word.replace("天", "日"))
