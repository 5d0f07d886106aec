"""Prepared answers to newcomers' questions about nanobot itself, a Markdown file per language: the
embedded model would invent prices, privacy promises and commands. A line that begins with `? ` is a
pattern for questions, matched against lower-case text without punctuation; `{model}` is the model
that answers all other questions.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).resolve().parent
_HEAD = re.compile(r"^## (\w+)$", re.MULTILINE)
_WORDS = {
    "{you}": r"(?:you|this(?: (?:bot|thing|program|assistant|app))?|nanobot|it|that|"
    r"the (?:bot|assistant))",
    "{my}": r"(?:my|our|the|these|this|all)",
    "{data}": r"(?:data|messages?|chats?|conversations?|questions|texts?|information|words|"
    r"prompts)",
    "{channels}": r"(?:telegram|discord|slack|matrix|e ?mail|whatsapp|signal|(?:my )?phone|mobile|"
    r"wechat)",
    "{channels_zh}": r"(?:telegram|电报|discord|slack|matrix|邮件|邮箱|微信|手机|"
    r"whatsapp|飞书|钉钉)",
    "{key}": r"keys?",
    "{provider}": r"(?:openai|anthropic|claude|gemini|google|openrouter|deepseek|ollama|lm studio|"
    r"gpt|chatgpt)",
}
_SHIPPED = {
    "en": "SmolLM2 with 135 million parameters, which comes with nanobot and is best in English",
    "zh": "SmolLM2，1.35 亿参数，随 nanobot 附带，英文最好",
}
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


class Topic(NamedTuple):
    """A prepared answer in one language, and the questions it answers; `questions` None: no pattern
    selects it.
    """

    name: str
    questions: re.Pattern[str] | None
    answer: str
    language: str

    def naming(self, model: str) -> str:
        """The answer with the name of the model; "": the model shipped with nanobot."""
        return self.answer.replace("{model}", model or _SHIPPED[self.language])


def language_of(text: str) -> str:
    """The language of a question, among the languages with prepared answers."""
    return "zh" if _CHINESE.search(text) and not _KANA.search(text) else "en"


@cache
def topics(language: str) -> dict[str, Topic]:
    """Every topic of a language by its name."""
    _, *parts = _HEAD.split((_FOLDER / f"{language}.md").read_text("utf-8"))
    return {
        name: _topic(name, body, language)
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def topic_of(text: str) -> Topic | None:
    """The topic of a question about nanobot; None for any other text."""
    language = language_of(text)
    if language == "zh":
        text = text.replace(" ", "")
    for topic in topics(language).values():
        if topic.questions is not None and topic.questions.fullmatch(text):
            return topic
    return None


def _topic(name: str, body: str, language: str) -> Topic:
    lines = body.strip().split("\n")
    patterns = [line.removeprefix("? ") for line in lines if line.startswith("? ")]
    answer = "\n".join(line for line in lines if not line.startswith("? ")).strip()
    whole = "|".join(patterns)
    for word, pattern in _WORDS.items():
        whole = whole.replace(word, pattern)
    return Topic(name, re.compile(whole) if patterns else None, answer, language)
