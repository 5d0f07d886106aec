"""Schedules in plain words, in English and Chinese: what they mean, what is refused, and what is
said back."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import Once, coming, parse, split
from nanobot.plugins.cron.spoken import chinese_text
from nanobot.plugins.cron.wording import in_words
from tests.sampling import examples

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 23, 10, 30, tzinfo=ZoneInfo(ZONE)).timestamp()
"""A Monday."""

REPEATED_ENGLISH = [
    ("every weekday at 9", "0 9 * * 1-5"),
    ("every weekday at 9:30", "30 9 * * 1-5"),
    ("weekdays at 9am", "0 9 * * 1-5"),
    ("on weekdays at half past 8", "30 8 * * 1-5"),
    ("at 9 on weekdays", "0 9 * * 1-5"),
    ("at 9am every weekday", "0 9 * * 1-5"),
    ("every working day at 17:45", "45 17 * * 1-5"),
    ("monday to friday at 8", "0 8 * * 1-5"),
    ("mon-fri at 8:15", "15 8 * * 1-5"),
    ("every monday to thursday at 7", "0 7 * * 1-4"),
    ("every day at 9", "0 9 * * *"),
    ("daily at 18:00", "0 18 * * *"),
    ("each day at noon", "0 12 * * *"),
    ("every day at midnight", "0 0 * * *"),
    ("every day at 9 and 17", "0 9,17 * * *"),
    ("every day at 9:30, 12:30 and 17:30", "30 9,12,17 * * *"),
    ("every day at 8 in the evening", "0 20 * * *"),
    ("every day at 7pm", "0 19 * * *"),
    ("every morning", "0 8 * * *"),
    ("every evening", "0 19 * * *"),
    ("every night", "0 21 * * *"),
    ("every afternoon", "0 15 * * *"),
    ("every morning at 7", "0 7 * * *"),
    ("every evening at 8", "0 20 * * *"),
    ("every night at 11", "0 23 * * *"),
    ("nightly at 2am", "0 2 * * *"),
    ("every weekend at 10", "0 10 * * 0,6"),
    ("weekends at 10", "0 10 * * 0,6"),
    ("every monday at 9", "0 9 * * 1"),
    ("mondays at 9", "0 9 * * 1"),
    ("on mondays and thursdays at 18:30", "30 18 * * 1,4"),
    ("every mon, wed and fri at 7:15", "15 7 * * 1,3,5"),
    ("every week on tuesday at 10", "0 10 * * 2"),
    ("weekly on friday at 16:00", "0 16 * * 5"),
    ("every monday morning", "0 8 * * 1"),
    ("every friday evening at 6", "0 18 * * 5"),
    ("every sunday at noon", "0 12 * * 0"),
    ("on the first monday of the month at 9", "0 9 * * 1#1"),
    ("first monday of the month at 9", "0 9 * * 1#1"),
    ("every first monday at 9", "0 9 * * 1#1"),
    ("every third thursday of the month at 18:00", "0 18 * * 4#3"),
    ("the last friday of every month at 15:00", "0 15 * * 5L"),
    ("every month on the last friday at 15:00", "0 15 * * 5L"),
    ("the 2nd tuesday of each month at 10am", "0 10 * * 2#2"),
    ("the last day of the month at 20:00", "0 20 L * *"),
    ("the first day of every month at 8", "0 8 1 * *"),
    ("every month on the 1st at 9", "0 9 1 * *"),
    ("on the 1st and 15th of every month at 9", "0 9 1,15 * *"),
    ("monthly on the 10th at noon", "0 12 10 * *"),
    ("every month on the 31st at 9", "0 9 31 * *"),
    ("every year on 24 december at 18:00", "0 18 24 12 *"),
    ("every december 24th at 18:00", "0 18 24 12 *"),
    ("on 1 january every year at 0:00", "0 0 1 1 *"),
    ("every 2 hours", "every 2 hours"),
    ("every two hours", "every 2 hours"),
    ("every half hour", "every 30 minutes"),
    ("every 15 minutes", "every 15 minutes"),
    ("every other hour", "every 2 hours"),
    ("every hour", "every hour"),
    ("every week", "every 7 days"),
    ("every 2 weeks", "every 14 days"),
    ("every 90 seconds", "every 90 seconds"),
    ("every hour and a half", "every 90 minutes"),
    ("hourly", "every hour"),
    ("every other day", "every 2 days"),
    ("every 2 hours between 8 and 18", "0 8-18/2 * * *"),
    ("every hour from 9 to 17 on weekdays", "0 9-17 * * 1-5"),
    ("every 30 minutes between 9:00 and 12:00", "*/30 9-11 * * *"),
    ("quarter past 9 every weekday", "15 9 * * 1-5"),
    ("every weekday at quarter to 10", "45 9 * * 1-5"),
    ("Every Weekday At 9 O'Clock", "0 9 * * 1-5"),
    ("every monday", "0 9 * * 1"),
    ("weekdays", "0 9 * * 1-5"),
    ("on the first monday of the month", "0 9 * * 1#1"),
    ("on mondays and thursdays", "0 9 * * 1,4"),
]

REPEATED_CHINESE = [
    ("每个工作日9点", "0 9 * * 1-5"),
    ("每个工作日早上9点", "0 9 * * 1-5"),
    ("工作日9:30", "30 9 * * 1-5"),
    ("周一到周五8点", "0 8 * * 1-5"),
    ("每周一至周五上午8点半", "30 8 * * 1-5"),
    ("每天早上", "0 8 * * *"),
    ("每天早上7点", "0 7 * * *"),
    ("每天晚上", "0 19 * * *"),
    ("每晚", "0 19 * * *"),
    ("每晚10点", "0 22 * * *"),
    ("每天18:00", "0 18 * * *"),
    ("每天9点和17点", "0 9,17 * * *"),
    ("每天下午3点15分", "15 15 * * *"),
    ("每天中午", "0 12 * * *"),
    ("每天中午12点", "0 12 * * *"),
    ("每天晚上12点", "0 0 * * *"),
    ("每日凌晨2点", "0 2 * * *"),
    ("每早7点", "0 7 * * *"),
    ("天天九点", "0 9 * * *"),
    ("每周末上午10点", "0 10 * * 0,6"),
    ("每周一9点", "0 9 * * 1"),
    ("每周一、三、五7点半", "30 7 * * 1,3,5"),
    ("每周一和周四18:30", "30 18 * * 1,4"),
    ("每星期二下午两点", "0 14 * * 2"),
    ("每个星期天上午十点", "0 10 * * 0"),
    ("每周五下午", "0 15 * * 5"),
    ("每月1号9点", "0 9 1 * *"),
    ("每月1号和15号上午9点", "0 9 1,15 * *"),
    ("每个月10日12:00", "0 12 10 * *"),
    ("每月最后一天20:00", "0 20 L * *"),
    ("每月第一个星期一", "0 9 * * 1#1"),
    ("每月第一个星期一9点", "0 9 * * 1#1"),
    ("每个月第三个周四18:00", "0 18 * * 4#3"),
    ("每月最后一个周五下午3点", "0 15 * * 5L"),
    ("每年12月24日18:00", "0 18 24 12 *"),
    ("每年1月1日零点", "0 0 1 1 *"),
    ("每2小时", "every 2 hours"),
    ("每两个小时", "every 2 hours"),
    ("每半小时", "every 30 minutes"),
    ("每小时", "every hour"),
    ("每隔30分钟", "every 30 minutes"),
    ("每15分钟", "every 15 minutes"),
    ("每三天", "every 3 days"),
    ("每隔一天", "every 2 days"),
    ("每天9点到17点每小时", "0 9-17 * * *"),
    ("每個工作日9點", "0 9 * * 1-5"),
    ("每週一早上九點半", "30 9 * * 1"),
    ("每禮拜三下午4點", "0 16 * * 3"),
    ("每周一", "0 9 * * 1"),
    ("每个工作日", "0 9 * * 1-5"),
    ("每月1号", "0 9 1 * *"),
]

ONCE_ENGLISH = [
    ("in 20 minutes", "2026-11-23 10:50"),
    ("in half an hour", "2026-11-23 11:00"),
    ("in an hour", "2026-11-23 11:30"),
    ("in an hour and a half", "2026-11-23 12:00"),
    ("in two days", "2026-11-25 10:30"),
    ("in 2 weeks", "2026-12-07 10:30"),
    ("in 1 hour and 30 minutes", "2026-11-23 12:00"),
    ("20 minutes from now", "2026-11-23 10:50"),
    ("in 3 days at 9", "2026-11-26 09:00"),
    ("in a week at 10:00", "2026-11-30 10:00"),
    ("at 18:00", "2026-11-23 18:00"),
    ("18:00", "2026-11-23 18:00"),
    ("at noon", "2026-11-23 12:00"),
    ("at 9", "2026-11-24 09:00"),
    ("at 7 in the evening", "2026-11-23 19:00"),
    ("today at 18:00", "2026-11-23 18:00"),
    ("tonight", "2026-11-23 19:00"),
    ("tonight at 8", "2026-11-23 20:00"),
    ("this evening at 7", "2026-11-23 19:00"),
    ("tomorrow 18:00", "2026-11-24 18:00"),
    ("tomorrow at 9am", "2026-11-24 09:00"),
    ("tomorrow morning", "2026-11-24 08:00"),
    ("tomorrow morning at 7", "2026-11-24 07:00"),
    ("tomorrow at noon", "2026-11-24 12:00"),
    ("at 18:00 tomorrow", "2026-11-24 18:00"),
    ("the day after tomorrow at 10", "2026-11-25 10:00"),
    ("friday at noon", "2026-11-27 12:00"),
    ("on friday at 9", "2026-11-27 09:00"),
    ("next friday at noon", "2026-11-27 12:00"),
    ("next monday at 9", "2026-11-30 09:00"),
    ("this saturday at 11", "2026-11-28 11:00"),
    ("monday next week at 9", "2026-11-30 09:00"),
    ("next week on tuesday at 14:30", "2026-12-01 14:30"),
    ("on 24 december at 18:00", "2026-12-24 18:00"),
    ("december 24 at 18:00", "2026-12-24 18:00"),
    ("24 dec 2027 18:00", "2027-12-24 18:00"),
    ("on the 24th of december at 6pm", "2026-12-24 18:00"),
    ("on the 5th at 9", "2026-12-05 09:00"),
]

ONCE_CHINESE = [
    ("20分钟后", "2026-11-23 10:50"),
    ("半小时后", "2026-11-23 11:00"),
    ("一个小时后", "2026-11-23 11:30"),
    ("一个半小时后", "2026-11-23 12:00"),
    ("两天后", "2026-11-25 10:30"),
    ("三天后9点", "2026-11-26 09:00"),
    ("1小时30分钟后", "2026-11-23 12:00"),
    ("今天18:00", "2026-11-23 18:00"),
    ("今晚8点", "2026-11-23 20:00"),
    ("今晚", "2026-11-23 19:00"),
    ("明天18:00", "2026-11-24 18:00"),
    ("明天早上", "2026-11-24 08:00"),
    ("明天早上7点", "2026-11-24 07:00"),
    ("明天下午三点半", "2026-11-24 15:30"),
    ("明早8点", "2026-11-24 08:00"),
    ("明晚9点", "2026-11-24 21:00"),
    ("后天上午10点", "2026-11-25 10:00"),
    ("周五中午", "2026-11-27 12:00"),
    ("周五下午3点", "2026-11-27 15:00"),
    ("下周五12点", "2026-12-04 12:00"),
    ("下周一9点", "2026-11-30 09:00"),
    ("本周六11点", "2026-11-28 11:00"),
    ("12月24日18:00", "2026-12-24 18:00"),
    ("2027年12月24日晚上6点", "2027-12-24 18:00"),
    ("24号9点", "2026-11-24 09:00"),
    ("下个月1号9点", "2026-12-01 09:00"),
    ("晚上9点", "2026-11-23 21:00"),
    ("九点一刻", "2026-11-24 09:15"),
    ("十二点三刻", "2026-11-23 12:45"),
    ("兩小時後", "2026-11-23 12:30"),
]

REPEATED = [*REPEATED_ENGLISH, *REPEATED_CHINESE]
REFUSED = [
    ("tomorrow", "no time of day"),
    ("friday", "no time of day"),
    ("on 24 december", "no time of day"),
    ("明天", "no time of day"),
    ("下周五", "no time of day"),
    ("every day at 9:00 and 17:30", "two jobs"),
    ("tomorrow at 9 and 17", "two jobs"),
    ("every second monday at 9", "weeks or months"),
    ("first weekday of the month at 9", "working days"),
    ("每月第一个工作日9点", "working days"),
    ("friday at midnight", "write 0:00 or 23:59"),
    ("明天晚上12点", "write 0:00 or 23:59"),
    ("tonight at 1", "not in the evening"),
    ("每隔三天", "two ways"),
    ("on 30 february at 9", "month does not have"),
    ("on the 32nd of every month at 9", "no month has"),
    ("every 7 minutes between 9 and 17", "divide an hour"),
    ("every hour between 17:00 and 9:00", "full hours"),
    ("today at 9", "passed already"),
    ("今天9点", "passed already"),
    ("every 3 seconds", "too often"),
    ("每3秒", "too often"),
    ("in 900 weeks", "too long"),
    ("every weekday at 25", "not a schedule"),
    ("every weekday at 9:75", "not a schedule"),
    ("every full moon at 9", "not a schedule"),
    ("every other monday at 9", "not a schedule"),
    ("some day soon", "not a schedule"),
    ("when it rains", "not a schedule"),
    ("next month", "not a schedule"),
    ("下雨的时候", "not a schedule"),
    ("有空的时候提醒我", "not a schedule"),
    ("每天25点", "not a schedule"),
    ("call mum tomorrow at 9", "not a schedule"),
]


@pytest.mark.parametrize(("phrase", "plain"), REPEATED)
def test_a_phrase_for_what_repeats_is_understood(phrase: str, plain: str) -> None:
    assert parse(phrase, ZONE, NOW).text == plain
    assert parse(f"  {phrase.upper()}. ", ZONE, NOW).text == plain


@pytest.mark.parametrize(("phrase", "shown"), [*ONCE_ENGLISH, *ONCE_CHINESE])
def test_a_phrase_for_one_time_is_understood(phrase: str, shown: str) -> None:
    schedule = parse(phrase, ZONE, NOW)
    assert isinstance(schedule, Once)
    assert datetime.fromtimestamp(schedule.at, ZoneInfo(ZONE)).strftime("%Y-%m-%d %H:%M") == shown


@pytest.mark.parametrize(("phrase", "_"), REPEATED)
def test_what_is_said_back_means_the_same(phrase: str, _: str) -> None:
    schedule = parse(phrase, ZONE, NOW)
    said = in_words(schedule, ZONE, phrase)
    assert chinese_text(said) == chinese_text(phrase)
    assert coming(parse(said, ZONE, NOW), NOW, 40) == coming(schedule, NOW, 40)


@pytest.mark.parametrize(("phrase", "reason"), REFUSED)
def test_what_is_not_understood_is_refused_with_examples(phrase: str, reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(phrase, ZONE, NOW)
    assert reason in str(raised.value)
    if "not a schedule" in str(raised.value):
        assert "`每个工作日9点`" in str(raised.value)


@pytest.mark.parametrize("text", ["Look at the builds", "看看新闻"])
def test_a_phrase_is_told_from_what_is_to_be_done(text: str) -> None:
    for phrase, _ in [*REPEATED, *ONCE_ENGLISH, *ONCE_CHINESE]:
        between = "" if chinese_text(phrase) and chinese_text(text) else " "
        assert split(f"{phrase}{between}{text}", ZONE, NOW) == (phrase, text)
        assert split(f"{phrase}: {text}", ZONE, NOW) == (phrase, text)


WORDS = [
    *("every", "at", "on", "the", "first", "last", "next", "monday", "fri", "weekday", "month"),
    *("day", "hour", "minutes", "9", "17:30", "25", "31st", "in", "20", "and", "to", "between"),
    *("tomorrow", "noon", "december", "每", "天", "周", "一", "月", "点", "半", "号", "后", "第"),
    *("个", "十", "早上", "晚上", "明", "下", "到", "每隔", "、"),
]


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(WORDS), max_size=8), st.sampled_from([" ", ""]))
def test_any_words_are_understood_or_refused(words: list[str], between: str) -> None:
    text = between.join(words)
    try:
        schedule = parse(text, ZONE, NOW)
    except UsageError:
        return
    assert in_words(schedule, ZONE, text)
    assert schedule.next(NOW) is not None


@settings(max_examples=examples(200))
@given(st.text(max_size=30))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        parse(text, ZONE, NOW)
    except UsageError as error:
        refused = str(error)
    else:
        return
    assert refused
