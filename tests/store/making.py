"""Messages, entries and endings, as short as tests want them."""

from __future__ import annotations

import msgspec

from nanobot.messages import (
    Address,
    Attachment,
    InboundMessage,
    LaneCommand,
    Origin,
    OutboundKind,
    OutboundMessage,
    Role,
    Sender,
)
from nanobot.ports import OutboundPart
from nanobot.providers.base import ModelProfile, ToolCall, ToolSpec
from nanobot.session.approvals import Approval, digest
from nanobot.session.auxiliary import AuxiliaryCall
from nanobot.session.entries import (
    ModelCallEntry,
    PromptEntry,
    ReplyEntry,
    ToolResultEntry,
    ToolStartedEntry,
)
from nanobot.session.inbox import Admission, Admitted
from nanobot.session.journal import Journal
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Claim, Ending, PromptSnapshot, WindowChange
from nanobot.session.states import RunState

CHAT = Address("telegram", "7")
KEY = "telegram:7"
ANN, BEN = "1001", "2002"
PROMPT = PromptSnapshot(
    system="You are nanobot.", tools=(ToolSpec("clock", "Tells the time.", {}),)
)


def said(
    text: str,
    sender: str = ANN,
    address: Address = CHAT,
    *,
    key: str | None = None,
    origin: Origin = Origin.USER,
) -> InboundMessage:
    """A message, /new if it begins so; its dedupe key is its text, unless another is given."""
    known_by = text if key is None else key
    return InboundMessage(
        address=address,
        message_id=f"id-{known_by}",
        dedupe_key=known_by,
        sender=Sender(sender, "Somebody"),
        text=text,
        sent_at=1_700_000_000.0,
        origin=origin,
        command=LaneCommand.NEW if text.startswith("/new") else None,
    )


def let_in(message: InboundMessage, session_key: str = KEY) -> Admission:
    """A message that waits in its lane."""
    return Admission(message=message, session_key=session_key, role=Role.MEMBER)


def with_file(
    ref: str, sender: str = ANN, *, group: str | None = None, session_key: str = KEY
) -> Admission:
    """A message with a file that is to be fetched; its dedupe key and text are the file's ref."""
    files = (Attachment("image", ref=ref, name=f"{ref}.jpg"),)
    message = msgspec.structs.replace(said(ref, sender), attachments=files, group_id=group)
    return msgspec.structs.replace(let_in(message, session_key), awaiting_files=True)


def performing(text: str = "/wait", session_key: str = KEY) -> Admission:
    """A command that takes longer; its dedupe key is its text."""
    return msgspec.structs.replace(let_in(said(text), session_key), performing=True)


def told(text: str, key: str, address: Address = CHAT) -> OutboundMessage:
    """Something owed to a chat."""
    return OutboundMessage(address=address, text=text, key=key)


def stop_order(
    sender: str = ANN,
    *,
    everyone: bool = False,
    key: str = "/stop",
    bodies: tuple[ReplyEntry, ...] = (),
) -> Admission:
    """An order to stop, with its notice."""
    notice = OutboundMessage(
        address=CHAT, text="Stopped.", kind=OutboundKind.NOTICE, key=f"notice:{key}:{sender}"
    )
    return Admission(
        message=said("/stop", sender, key=key),
        session_key=KEY,
        role=Role.OWNER if everyone else Role.MEMBER,
        stop=Ending(state=RunState.ABORTED, bodies=bodies, outbound=(notice,), error="stopped"),
        everyone=everyone,
    )


async def admit(
    journal: Journal,
    *messages: InboundMessage | Admission,
    channel: str = "telegram",
    cursor: str | None = None,
    lane_limit: int = 50,
    session_key: str = KEY,
) -> list[Admitted]:
    """Let messages in."""
    admissions = [
        message if isinstance(message, Admission) else let_in(message, session_key)
        for message in messages
    ]
    return await journal.admit(channel, admissions, cursor, lane_limit)


async def claim(journal: Journal, run_id: str = "run", session_key: str = KEY) -> Claim:
    """Own a lane that somebody must be able to own."""
    claimed = await journal.claim(session_key, run_id, "Europe/Berlin")
    assert claimed is not None
    return claimed


async def begun(journal: Journal, run_id: str = "run", session_key: str = KEY) -> Claim:
    """A run over one message."""
    await admit(journal, said(f"for {run_id} in {session_key}"), session_key=session_key)
    return await claim(journal, run_id, session_key)


async def following(journal: Journal, address: Address = CHAT) -> OutboundRow:
    """The next message of a chat that has one."""
    row = await journal.next_outbound(address)
    assert row is not None
    return row


def call(number: int = 1, window_from: int = 1, prompt: str = "digest") -> ModelCallEntry:
    """A model call about to be made."""
    return ModelCallEntry(
        call=number,
        prompt=prompt,
        window_from=window_from,
        profile=ModelProfile(name="m", provider="p"),
        estimate=10,
        temperature=0.5,
        max_tokens=100,
    )


def aside(*, apart: bool = False) -> AuxiliaryCall:
    """A call beside a run's own, about to be made."""
    profile = ModelProfile(name="m", provider="p")
    return AuxiliaryCall(profile=profile, estimate=10, max_tokens=100, apart=apart)


def prompt(digest: str = "digest") -> PromptEntry:
    """A new prompt."""
    return PromptEntry(digest=digest, prompt_variant="plain")


def reply(text: str = "", number: int = 1) -> ReplyEntry:
    """A reply that asks for a tool."""
    calls = (ToolCall(id="c", name="clock", arguments="{}"),)
    return ReplyEntry(call=number, text=text, tool_calls=calls, finish_reason="tool_calls")


STARTED = ToolStartedEntry(call=1, index=0, name="clock")
RESULT = ToolResultEntry(call=1, index=0, name="clock", text="noon")


def approval(*, ask: str = "", run_id: str = "run", session_key: str = KEY) -> Approval:
    """What the run of ANN is to ask before it looks at the clock, for an hour; or a question."""
    return Approval(
        session_key=session_key,
        run_id=run_id,
        model_call=1,
        index=0,
        tool="clock",
        arguments="{}",
        digest=digest("clock", "{}"),
        why="time is money",
        question=ask,
        address=CHAT,
        sender_id=ANN,
        role=Role.MEMBER,
        here=True,
        asked_at=1_800_000_000.0,
        expires_at=1_800_003_600.0,
    )


async def asked(journal: Journal, claimed: Claim, number: int = 1) -> None:
    """The run's model call is recorded."""
    await journal.start_model(claimed.lane, claimed.run, [prompt(), call(number)], PROMPT)


def ending(
    *texts: str,
    run_id: str = "run",
    state: RunState = RunState.COMPLETED,
    address: Address = CHAT,
    window: WindowChange | None = None,
) -> Ending:
    """A run's end that owes some texts."""
    return Ending(
        state=state,
        bodies=tuple(ReplyEntry(call=1, text=text) for text in texts),
        outbound=tuple(told(text, f"{run_id}:{n}", address) for n, text in enumerate(texts)),
        window=window,
    )


async def answered(journal: Journal, claimed: Claim, *texts: str, address: Address = CHAT) -> bool:
    """The run says something and ends."""
    run_id = claimed.run.id
    return await journal.finish(
        claimed.lane, claimed.run, ending(*texts, run_id=run_id, address=address)
    )


def rendered(*texts: str) -> list[OutboundPart]:
    """The parts of a message."""
    return [OutboundPart(text=text, payload=b"{}", key=f"part-{text}") for text in texts]
