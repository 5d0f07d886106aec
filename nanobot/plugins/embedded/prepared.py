"""Questions that the embedded model does not get: who it is, what it cannot do, what nanobot costs
and stores. A model of its size would invent the answers; these answers are prepared (see
`answers`).
"""

from __future__ import annotations

import re

from nanobot.plugins.embedded.answers import language_of, topic_of, topics
from nanobot.providers.base import ChatMessage, TextPart

_LONGEST = 200
_UNWANTED = re.compile(r"[^\w\s']+")
_OPENING = re.compile(
    r"(?:(?:hi|hello|hey|hallo|bonjour|salut|hola|ciao|привет|你好|please|so|ok|and) +)?"
    r"(?:(?:can|could|would|will) you (?:please )?)?"
)
_GREETINGS = (
    r"(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon)|help|help me|start|test)(?: there)?",
    r"hallo|moin|servus|guten (?:tag|morgen|abend)|hilfe|bonjour|salut|aide|hola|ayuda|ciao|aiuto",
    r"olá|oi|привет|помощь|你好|您好|帮助|こんにちは",
)
_ABOUT_ITSELF = (
    r"(?:tell|say) (?:me|us) (?:something |more )?about (?:you|yourself)|introduce yourself",
    r"what(?:'s| is) your name|how (?:do you|does (?:this|nanobot)) work",
    r"(?:what|which|how) (?:can|could|do|will) (?:you|this bot|nanobot) (?:do|help)(?: with)?"
    r"(?: (?:for )?(?:me|us))?(?: (?:on|in|with|here|today|now)\b.*)?",
    r"(?:who|what) (?:are you|is this|is nanobot)(?: exactly)?",
    r"what are you (?:able|capable|good)\b.*|what are your (?:capabilities|limits|skills|tools)",
    r"(?:what|which) (?:kind of )?(?:model|llm|ai) (?:are you|is this|do you use|answers)\b.*",
    r"(?:what|which) (?:tools|skills|commands|features) (?:do you have|are there|can you use)",
    r"are you (?:chatgpt|gpt|claude|an ai|a bot|human)\b.*",
    r"how (?:do|can|should) i (?:add|set|change|connect|use|configure|switch|get)\b.*"
    r"\b(?:keys?|models?|providers?|telegram|discord|slack|you)\b.*",
    r"wer bist du|was kannst du\b.*|qui es tu|que (?:peux tu|sais tu|pouvez vous) faire",
    r"qui[eé]n eres|qu[eé] puedes hacer|chi sei|cosa (?:sai|puoi) fare|quem é você",
    r"кто ты|что ты (?:умеешь|можешь)|你是谁|你(?:能|可以|会)做(?:什么|些什么)",
    r"あなたは誰(?:ですか)?|何ができ(?:る|ますか)",
)
_TO_BE_DONE = (
    r"remind (?:me|us)\b.*|(?:set|create) (?:a|an|the) (?:reminder|alarm|timer|schedule)\b.*",
    r"(?:search|google|browse)(?: (?:the )?(?:web|internet|net|online)| for)\b.*",
    r"(?:read|open|write|create|edit|delete|remove|save|list|show|move|copy|rename)\b.*"
    r"\b(?:files?|folders?|directory|workspace|disk)\b.*",
    r"(?:what|what's|which)(?: is| are)?(?: files)?(?: are)? in (?:my|the|this|your) "
    r"(?:workspace|folder|directory)\b.*",
    r"(?:run|execute) (?:the |a |this |my )?(?:command|script|program|code|shell|tests?)\b.*",
    r"(?:send|post) (?:an? |the |my )?(?:e-?mail|mail|message|sms)\b.* to .*",
    r"(?:what|how)(?:'s| is) the (?:weather|news|time|date|temperature)\b.*",
    r"what (?:time|day|date) is it\b.*|(?:open|visit|fetch|download) https?\b.*",
)
_PREPARED = {
    "welcome": re.compile("|".join((*_GREETINGS, *_ABOUT_ITSELF))),
    "cannot": re.compile("|".join(_TO_BE_DONE)),
}


def prepared_answer(messages: tuple[ChatMessage, ...], model: str = "") -> str | None:
    """The prepared answer to the last message; None if the model has to answer. `model` is the
    model that answers other questions; "": the one shipped with nanobot.
    """
    last = messages[-1] if messages else ChatMessage(role="system")
    if last.role != "user":
        return None
    content = last.content
    if not isinstance(content, str):
        content = " ".join(part.text for part in content if isinstance(part, TextPart))
    if len(content) > _LONGEST:
        return None
    text = " ".join(_UNWANTED.sub(" ", content.lower().replace("’", "'")).split())
    match = _OPENING.match(text)
    opening = match[0] if match else ""
    for words in (text, text[len(opening) :]):
        if topic := topic_of(words):
            return topic.naming(model)
        for name, questions in _PREPARED.items():
            if questions.fullmatch(words):
                return topics(language_of(text))[name].naming(model)
    return None
