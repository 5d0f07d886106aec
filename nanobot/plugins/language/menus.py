"""What the commands of the menus do, in other languages than English."""

from __future__ import annotations

from nanobot.operations.operation import Operation

CHINESE = {
    "help": "显示可用的命令",
    "new": "开始新的对话",
    "compact": "总结之前的内容以缩短上下文(/compact undo 可撤销)",
    "stop": "停止我正在为你做的事并放弃你排队的消息",
    "send": "向某个会话发送消息",
    "notify": "不经过模型直接告知某个聊天一件事",
    "status": "显示模型、会话和正在运行的任务",
    "model": "显示或更换模型",
    "search": "搜索对话中说过的所有内容",
    "approve": "允许我执行刚才询问的操作",
    "deny": "拒绝我询问的操作",
    "show": "显示一个过长调用的全部内容",
    "answer": "回答我的问题",
    "reload": "为所有会话重新读取工作区的文件和技能",
    "usage": "显示已使用的用量和剩余的额度",
    "doctor": "检查所有必须正常的部分并说明该怎么做",
    "diagnostics": "收集一个已脱敏的压缩包，以附在问题报告中",
    "language": "显示或更换我在此聊天中使用的语言",
    "restart": "等正在运行的任务结束后以当前配置重新启动",
}
_BY_LANGUAGE = {"zh": CHINESE}


def menu_texts(operation: Operation) -> tuple[tuple[str, str], ...]:
    """The help of an operation behind each language that there is a translation into."""
    name = operation.name
    return tuple(
        (language, texts[name]) for language, texts in _BY_LANGUAGE.items() if name in texts
    )
