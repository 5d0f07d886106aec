"""The deeds that a sentence in Chinese claims."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nanobot.plugins.claims.deeds import CHINESE, PATH, Deed
from nanobot.plugins.claims.english import Said
from nanobot.plugins.claims.sentences import Sentence

_HAN = re.compile(r"[\u4e00-\u9fff]")
_ENDS = r"(?:好了|完了|掉了|成功|完成|出去了|下来了?|上了|到了|完毕|过了|过来了?|好|掉|出去|上线)"
_DEED = {deed: re.compile(words) for deed, words in CHINESE.items()}
_HAVE = re.compile(r"已|刚|都|我(?:把|给|帮|替|也)|帮你|给你|为您|为你|帮您|替你|搞定")
_AFTER = re.compile(rf"^[^,。;]{{0,14}}?(?:了|{_ENDS})|^(?:到|为|至|在|给|成|进|入)|^\S{{0,3}}$")

_NOT = re.compile(r"没|未|不(?!错|过|久)|无法|别|失败|尚|避免|而不是|并非|差点")
_MAYBE = re.compile(
    r"如果|若|假如|要是|一旦|等(?!等)|之后|以后|后[,,]?|请|可以|能|要不要|需要|是否|将|打算|准备"
    r"|计划|会(?!议)|建议|应该|可能|或者|当.*时|先|再(?!见)|希望|想|才|除非|接下来|就[把行]|怎么|如何"
)
_TOLD = re.compile(
    r"显示|写着|说(?!的)|大意|据|表示|提到|新闻|报道|日志里|更新日志|记录显示|原文|所谓|邮件里|通知里"
)
_BEFORE = re.compile(
    r"昨[天晚日]|前天|上周|上个?月|上次|(?<![\u4e00-\u9fff])之前|以前|去年|今天上午|今早|曾|被\S{1,4}过"
    r"|早就|\d{4} ?年|刚才我说"
)
_OTHERS = re.compile(
    r"^(?:那|所以|而且|不过|但是?|然后|另外|好的)?[,,]?(?:你们?|您|他们?|她们?|它们?|对方|公司|系统|客户|商家"
    r"|快递|老师|同事|官方|小[\u4e00-\u9fff]|老[\u4e00-\u9fff](?=[已把刚]))(?!的|说的|刚说)"
)
_STATE = re.compile(r"机器上|电脑上|系统里|这里已|本来|原本|手机上|仓库里已")
_OWN_TEXT = re.compile(
    r"[一二三四五六七八九十]段|段落|段话|句子?|单词|措辞|语气|草稿|诗|标点|重复的部分|结尾|开头|标题|文字"
    r"|译文|计划表|方案|大纲|语病|错别字"
)
_THINGS = re.compile(
    r"文件|目录|文件夹|路径|桌面|配置|代码|bug|BUG|Bug|脚本|端口|合同|数据库|网站|页面|问题|设置|日程|报告"
    r"|接口|表格|名字|联系人|程序|服务|测试|函数里|依赖"
)
_MADE = re.compile(r"^(?:生成|创建|新建)")
_REPORT = re.compile(r"了吗|了没|没有?[??]|有没有|是不是|什么时候|吗[??]|吗$|谁|哪些|多少")


def is_chinese(text: str) -> bool:
    """Whether a sentence is read as Chinese."""
    return _HAN.search(text) is not None


def asks_for_report(request: str) -> bool:
    """Whether a person asks what was done: 发了吗?"""
    wish = re.search(r"可以|能|帮|请|好吗|行吗", request)
    return _REPORT.search(request) is not None and wish is None


def claimed(sentence: Sentence, *, shows: bool) -> Iterator[Said]:
    """The deeds that a sentence claims."""
    text = sentence.text
    if sentence.asks or re.search(r"吗|呢[??]?$", text) or _BEFORE.search(text):
        return
    if sentence.bullet and not sentence.of_what_was_done:
        return
    told, others, before = False, False, ""
    for clause in re.split(r"[,,;;。!!::、]", text):
        clause = clause.strip()  # noqa: PLW2901 - the pieces of one sentence
        told = told or _TOLD.search(clause) is not None
        starts = _OTHERS.search(clause) is not None
        others = starts or (others and "我" not in clause)
        maybe = _MAYBE.search(before) if before else None
        if clause and not told and not others and maybe is None:
            yield from _in_clause(clause, text, shows=shows)
        before = clause if re.search(r"如果|若|假如|要是|一旦|等|之后|后$", clause) else ""


def _in_clause(clause: str, sentence: str, *, shows: bool) -> Iterator[Said]:
    if _STATE.search(sentence) or re.search(r"[后时]$", clause):
        return
    if re.search(r"(?:做|写|画|整理|弄)好了", clause) and PATH.search(sentence):
        yield Said(deed=Deed.SAVED)
    for deed, verb in _DEED.items():
        match = verb.search(clause)
        if match is None:
            continue
        before, after = clause[: match.start()], clause[match.end() :]
        if _NOT.search(before) or _MAYBE.search(before) or _NOT.match(after):
            continue
        if re.match(r"后|时|之前|之后|前", after):
            continue
        if _is_done(match.group(), before, after) and _is_meant(
            deed, match.group(), clause, sentence, shows=shows
        ):
            yield Said(deed=deed)


def _is_done(verb: str, before: str, after: str) -> bool:
    """Whether the verb is complete: 已 before it, or a particle in it or after it."""
    complete = verb.endswith(("了", "好", "掉", "住", "下", "成", "过", "完", "上", "出"))
    if re.search(r"(?:已经?|刚刚?)$", before) or re.match(r"给[^,。]{1,8}了$", after):
        return True
    if complete and re.search(r"我也?$", before):
        return True
    if _HAVE.search(before) and (complete or _AFTER.match(after)):
        return True
    if complete and (not after or re.match(r"[了的::]|去了|过|\s|你|了", after)):
        return True
    return re.match(rf"(?:{_ENDS}|了|到了)", after) is not None


def _is_meant(deed: Deed, verb: str, clause: str, sentence: str, *, shows: bool) -> bool:
    """Whether it is done to something outside the answer."""
    if deed not in (Deed.FIXED, Deed.DELETED) and not (deed is Deed.SAVED and _MADE.match(verb)):
        return True
    path = PATH.search(clause) is not None
    if path:
        return True
    if _OWN_TEXT.search(sentence) or shows:
        return False
    if deed is Deed.DELETED:
        return True
    return _THINGS.search(sentence) is not None or verb in ("修好", "修复")
