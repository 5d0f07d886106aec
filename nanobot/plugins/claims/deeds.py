"""The deeds that an answer may claim, and the words for them in English and Chinese."""

from __future__ import annotations

import re
from enum import StrEnum


class Deed(StrEnum):
    """What an answer says was done. The values are shown to people and to the model."""

    SENT = "sent"
    SAVED = "saved"
    DELETED = "deleted"
    SCHEDULED = "scheduled"
    FIXED = "fixed"
    MOVED = "moved"
    REMEMBERED = "remembered"
    INSTALLED = "installed"
    RAN = "ran"
    BOOKED = "booked"
    CANCELLED = "cancelled"
    RESTARTED = "restarted"
    PUBLISHED = "published"
    STARTED = "started"


ENGLISH: dict[Deed, str] = {
    Deed.REMEMBERED: "remembered|memorized|committed|made|forgotten|forgot|saved|stored|noted"
    "|updated|added",
    Deed.SENT: "sent|resent|e-?mailed|mailed|texted|messaged|forwarded|replied|notified|informed"
    "|pinged|shared",
    Deed.SAVED: "saved|stored|exported|downloaded|uploaded|backed up|archived|created|made|written"
    "|wrote|recorded|generated|put together",
    Deed.DELETED: "deleted|removed|erased|wiped|cleared|cleaned up|purged|dropped|emptied|trashed",
    Deed.SCHEDULED: "scheduled|rescheduled|set|added|put",
    Deed.FIXED: "fixed|corrected|repaired|patched|updated|changed|modified|edited|adjusted"
    "|replaced|refactored|rewrote|rewritten|configured",
    Deed.MOVED: "moved|renamed|copied",
    Deed.INSTALLED: "installed|reinstalled|upgraded|uninstalled",
    Deed.RAN: "ran|run|re-?ran|executed|tested",
    Deed.BOOKED: "booked|reserved|ordered|bought|purchased|paid|placed",
    Deed.CANCELLED: "cancelled|canceled|unsubscribed|revoked|disabled",
    Deed.RESTARTED: "restarted|rebooted|turned|switched|shut down|enabled",
    Deed.PUBLISHED: "published|posted|pushed|deployed|merged|released|opened|closed|filed"
    "|committed|created",
    Deed.STARTED: "started|launched|kicked off|delegated|spawned",
}
"""The forms of each deed's verbs after "I" or "I have"."""

_CLOCK = r"(?:reminder|alarm|timer|job|schedule|alert|notification|cron)s?"
NEEDS: dict[Deed, re.Pattern[str]] = {
    deed: re.compile(pattern, re.IGNORECASE)
    for deed, pattern in {
        Deed.SCHEDULED: r"^(?:re)?scheduled\b"
        rf"|^set (?:up )?(?:\S+ ){{0,4}}{_CLOCK}\b"
        r"|^(?:added|put) .*\b(?:calendar|diary|schedule|agenda)\b"
        rf"|^added (?:a|the|your|two|another) (?:\S+ ){{0,2}}{_CLOCK}\b",
        Deed.REMEMBERED: r"^(?:remembered|memorized)\b|\bto (?:my |long-term )?memory\b"
        r"|\b(?:in|from) (?:my |long-term )?memory\b|^made a (?:mental )?note\b"
        r"|^updated my memory|^(?:forgotten|forgot)\b",
        Deed.RAN: r"^(?:re-?)?(?:ran|run|executed) (?:\S+ ){0,4}?(?:tests?|test suite|suite|script"
        r"|migrations?|command|build|linter|job|program|pytest|checks)\b|^executed\b"
        r"|^tested (?:it|this|that|them|everything|both|the (?:change|fix|code|script))\b",
        Deed.BOOKED: r"^(?!ordered .*\bby\b)(?!placed )|^placed (?:the|your|an) order",
        Deed.RESTARTED: r"^(?:restarted|rebooted|enabled|shut down)\b"
        r"|^(?:turned|switched) (?:\S+ ){0,6}?(?:on|off)\b",
        Deed.PUBLISHED: r"^(?:published|posted|deployed|released)\b"
        r"|^pushed (?:it|them|this|that|everything|all|the (?:\S+ ){0,2}"
        r"(?:commits?|changes?|branch|code|fix|image|version|tag|update))\b"
        r"|^merged (?:your|the|it|both) ?(?:\S+ ){0,2}"
        r"(?:pull request|pr|branch|merge request|into|changes?)\b"
        r"|^(?:opened|created|filed|closed) (?:an?|the|your|two|both) (?:\S+ ){0,3}?"
        r"(?:issue|ticket|pull request|pr|merge request|release)\b"
        r"|^committed (?!.*\bto (?:my )?memory)(?:it|them|this|that|the|everything|all|your)\b",
        Deed.STARTED: r"\b(?:background|research|helper|subagent|sub-agent|agent)\b|^spawned"
        r"|^delegated|^kicked off",
        Deed.SENT: r"^(?!(?:re)?sent you\b(?!.*\b(?:e-?mail|mail|message|sms|text|invite|"
        r"invitation)\b))(?!shared (?!.*\bwith\b))(?!informed (?:choice|decision))"
        r"(?!texted (?:version))",
        Deed.SAVED: r"^(?:saved|stored) (?!(?:you|us|me|time|money)\b)|^(?:saved|stored)[.!:,]?$"
        r"|^(?:exported|downloaded|uploaded|backed up|archived)\b"
        r"|^(?:created|made|generated|recorded|put together|wrote|written) ",
    }.items()
}
"""What has to follow the verb, where the verb alone says something else as often as not."""

MADE = re.compile(
    r"^(?:created|made|generated|recorded|put together|wrote|written)\b", re.IGNORECASE
)
TOUCHING = frozenset({Deed.FIXED, Deed.MOVED})
"""Deeds that an answer also does to its own text: something outside it has to be named."""

PATH = re.compile(
    r"(?<![\w@])(?:~?/[\w.-]+|[\w-]+/[\w./-]+|(?!e\.g|i\.e)[\w-]+\.(?:[a-z]{1,4}[0-9]?|toml|json|"
    r"yaml|html|conf|lock))(?!\w)"
)
THINGS = re.compile(
    r"\b(?:config|configuration|settings?|code|bugs?|tests?|fixtures?|scripts?|pages?|site|website"
    r"|databases?|server|repo|repository|ports?|timeout|calendar|events?|profile|contacts?"
    r"|passwords?|permissions?|files?|folders?|directory|directories|imports?|crash|leak|build"
    r"|pipeline|deployment|workflow|documents?|spreadsheet|contract|router|machine|service"
    r"|account|entry|entries|tickets?|issues?|branch|modules?|appointment|meeting|haircut|photos?"
    r"|it in|folder)\b",
    re.IGNORECASE,
)
OWN_TEXT = re.compile(
    r"\b(?:paragraphs?|sentences?|verses?|words?|wording|rhymes?|tone|voice|bullets?|draft|text"
    r"|poem|plan|itinerary|query|syntax|snippet|translation|letter|essay|story|intro|ending"
    r"|titles?|headline|caption|grammar|spelling|phrases?|examples?|formula|calculation|estimate"
    r"|answer|mistake|repetitions?|commas?|adjectives?|version|summary|list|outline|slogan"
    r"|function|bracket|stanzas?)\b",
    re.IGNORECASE,
)

CHINESE: dict[Deed, str] = {
    Deed.REMEMBERED: r"记住|记下|记在心里"
    r"|(?:存|写|记|录)[^,。]{0,3}(?:到|进|入|在)[^,。]{0,3}记忆",
    Deed.SENT: "发送|发出|发到|发给|发了|发好|转发|寄出|寄给|通知|告知|回复|群发|发过去|推送给",
    Deed.SAVED: "保存|存到|存进|存入|存好|存为|存在|写入|写进|写到|记到|记在|记进|导出|下载"
    "|上传|备份|创建|新建|生成",
    Deed.DELETED: "删除|删掉|删了|移除|清理|清空|清除|抹掉|卸下",
    Deed.SCHEDULED: "安排|设置提醒|设好|设定|定好|建好|加了一个(?:日程|提醒|闹钟)"
    "|添加到日历"
    "|加到日历|加入日历|加进日历|排好|设了",
    Deed.FIXED: "修好|修复|修正|更正|改好|改成|改为|更新|修改|调整|替换|改掉",
    Deed.MOVED: "移动到|移到|挪到|重命名|改名|复制到|搬到",
    Deed.INSTALLED: "安装|装上|装好|升级|卸载",
    Deed.RAN: "跑了|跑过|运行了|运行过|执行了|执行过|跑完|执行完|测试过",
    Deed.BOOKED: "预订|预定|订好|订了|点好|下单|购买|买好|付款|付了|支付|缴费",
    Deed.CANCELLED: "取消|退订|撤销|停用|关掉",
    Deed.RESTARTED: "重启|重新启动|打开了|关闭了|启用",
    Deed.PUBLISHED: "推送到|推送上|部署|发布|上线|合并|提交到|提交了",
    Deed.STARTED: "启动了后台|开始了后台|交给后台|后台任务已",
}
"""The verbs of each deed in Chinese."""
