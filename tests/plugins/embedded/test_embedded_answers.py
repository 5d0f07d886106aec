"""What newcomers ask of nanobot itself is answered as prepared, in their language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.command_line.commands import app
from nanobot.plugins.command_line.top import paths_of
from nanobot.plugins.embedded.answers import topics
from nanobot.plugins.embedded.prepared import prepared_answer
from nanobot.plugins.embedded.provider import EmbeddedProvider
from nanobot.providers.base import ChatMessage, Completion, ModelRequest, TextDelta
from nanobot.testing.machine import ManualClock

QUESTIONS = {
    "en cost": [
        "How much does it cost?",
        "Is this free?",
        "What does nanobot cost per month?",
        "Do I have to pay for it?",
        "is there a subscription?",
    ],
    "en privacy": [
        "Where is my data stored?",
        "Are my messages sent to OpenAI?",
        "Is this private?",
        "Who can read my conversations?",
        "Do you store what I write?",
    ],
    "en channels": [
        "How do I connect Telegram?",
        "Can I use you on WhatsApp?",
        "Which channels do you support?",
        "Can I talk to you from my phone?",
    ],
    "en keys": [
        "Where do I put my API key?",
        "Do I need an API key?",
        "How do I get an OpenAI key?",
    ],
    "en models": [
        "Can I use Claude?",
        "How do I change the model?",
        "Do you support Ollama?",
        "Why are you so slow?",
    ],
    "en memory": [
        "Do you remember me?",
        "Will you remember what I said yesterday?",
        "How does your memory work?",
    ],
    "en files": [
        "Can you read PDFs?",
        "How do I send you a picture?",
        "Can you see files on my computer?",
    ],
    "en commands": [
        "What commands are there?",
        "How do I exit?",
        "How do I start a new conversation?",
        "how do i update nanobot",
    ],
    "zh cost": ["这个多少钱？", "你是免费的吗？", "要花钱吗", "需要付费吗？", "nanobot 收费吗"],
    "zh privacy": [
        "我的数据存在哪里？",
        "我的聊天记录会发给 OpenAI 吗？",
        "你会泄露我的隐私吗？",
        "谁能看到我的消息？",
        "安全吗？",
    ],
    "zh channels": [
        "怎么连接 Telegram？",
        "可以在微信上用吗？",
        "支持哪些聊天软件？",
        "我能在手机上用你吗",
    ],
    "zh keys": ["密钥怎么设置？", "需要 API key 吗？", "在哪里填 OpenAI 的密钥？"],
    "zh models": ["你用的是什么模型？", "怎么换模型？", "可以用 Claude 吗？", "你为什么这么慢"],
    "zh memory": ["你能记住我吗？", "你记得我昨天说的吗？", "你有记忆吗？"],
    "zh files": ["你能读文件吗？", "怎么给你发图片？", "你可以看 PDF 吗？"],
    "zh commands": ["有哪些命令？", "怎么退出？", "怎么开始新对话", "怎么升级 nanobot？"],
    "zh cannot": ["明天九点提醒我开会", "今天天气怎么样？"],
    "zh welcome": ["你好", "你是谁？", "你能做什么？", "你好，你能做什么？"],
}
CASES = [(topic, question) for topic, asked in QUESTIONS.items() for question in asked]
ORDINARY = [
    *("What does a car cost in Norway?", "How much is two plus two?", "Is coffee free of gluten?"),
    *("Who can read Egyptian hieroglyphs?", "Where is Rome?", "What is the price of gold?"),
    *("Tell me about privacy laws in Europe", "Was the telegram faster than a letter?"),
    *("How do I change a tire?", "Which key is the fifth of C major?", "How do keys work?"),
    *("What did my grandmother remember of the war?", "Write a poem about memory"),
    *("Why is the sky blue?", "How do I stop smoking?", "How do I start a garden?"),
    *("How do I remove a stain?", "What is a command economy?", "Can you explain photosynthesis?"),
    *("中国的首都是哪里？", "苹果多少钱一斤？", "写一首关于记忆的诗", "法国大革命是什么时候？"),
    *("怎么戒烟？", "为什么天空是蓝色的？", "讲个笑话"),
]


def ask(*texts: str) -> ModelRequest:
    said = [ChatMessage(role="user", content=text) for text in texts]
    return ModelRequest(model="", messages=(ChatMessage(role="system", content="S"), *said))


def test_sixty_questions_and_more_in_both_languages() -> None:
    assert len({question for _, question in CASES}) == len(CASES) >= 60
    for language in ("en", "zh"):
        assert sum(topic.startswith(language) for topic, _ in CASES) >= 30
    assert list(topics("en")) == list(topics("zh"))


@pytest.mark.parametrize(("topic", "question"), CASES, ids=[question for _, question in CASES])
def test_a_question_is_answered_by_its_topic_in_its_language(topic: str, question: str) -> None:
    language, name = topic.split()
    assert prepared_answer(ask(question).messages) == topics(language)[name].naming("")


@pytest.mark.parametrize("question", ORDINARY)
def test_ordinary_questions_are_for_the_model(question: str) -> None:
    assert prepared_answer(ask(question).messages) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_that_an_answer_names_is_there(language: str) -> None:
    shell = set(paths_of(get_command(app).commands)) | {"update"}  # type: ignore[attr-defined]
    chat = {each.name for each in (*OPERATIONS, *plugin_operations())} | {"help", "quit", "image"}
    for topic in topics(language).values():
        for words in re.findall(r"`nanobot ([a-z ]+)`", topic.answer):
            assert words in shell, words
        for words in re.findall(r"`/([a-z]+(?: [a-z]+)?)", topic.answer):
            assert words in chat or words.split()[0] in chat, words
        assert not re.search(r"[$€¥]\s?\d|\d\s?(?:dollars|美元|元)", topic.answer), "a price"


async def test_messages_typed_one_after_the_other_are_all_answered(tmp_path: Path) -> None:
    provider = EmbeddedProvider(tmp_path, clock=ManualClock())
    deltas = [
        delta async for delta in provider.chat_stream(ask("Is this free?", "你能读文件吗？", "hi"))
    ]
    english, chinese = topics("en"), topics("zh")
    expected = "\n\n".join(
        [each.naming("") for each in (english["cost"], chinese["files"], english["welcome"])]
    )
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == expected
    (completion,) = [delta for delta in deltas if isinstance(delta, Completion)]
    assert completion.text == expected
    assert provider.pid is None


@pytest.mark.slow
async def test_a_question_among_others_reaches_the_real_model(tmp_path: Path) -> None:
    provider = EmbeddedProvider(tmp_path, clock=ManualClock())
    try:
        answer = await provider.chat(
            ask("Is this free?", "What is the capital of France?", "And the capital of Italy?")
        )
    finally:
        await provider.close()
    assert "Paris" in answer.text
    assert "Rome" in answer.text
    assert answer.text.startswith(topics("en")["cost"].answer)
    assert answer.usage is not None
    assert answer.usage.completion_tokens > 0


@pytest.mark.parametrize("question", ["hello", "What model are you?", "你好", "你是什么模型"])
@pytest.mark.parametrize(
    ("configured", "named"), [("mistral-tiny", "mistral-tiny"), ("smollm2", "SmolLM2")]
)
async def test_the_model_that_is_named_is_the_one_that_answers(
    tmp_path: Path, question: str, configured: str, named: str
) -> None:
    if named != "SmolLM2":
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / f"{named}.gguf").touch()
    provider = EmbeddedProvider(tmp_path, clock=ManualClock(), model=configured)
    answer = (await provider.chat(ask(question))).text
    assert named in answer
    assert ("SmolLM2" in answer) == (named == "SmolLM2")


def test_no_answer_is_left_with_a_gap() -> None:
    for topic in (*topics("en").values(), *topics("zh").values()):
        for model in ("", "other"):
            assert not re.search(r"[{}]", topic.naming(model))
            assert model == "" or "SmolLM2" not in topic.naming(model)
