"""What only one person of a server sees: answers to slash commands."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nanobot.errors import Refused
from nanobot.ports import Clock, OutboundPart
from nanobot_channels._discord_http import DiscordHttp, Refusal, delivery_error
from nanobot_channels._discord_interactions import Interaction, is_command
from nanobot_channels._discord_messages import is_snowflake
from nanobot_channels._discord_parts import body, payload_of

# A token is good for 15 minutes.
_TOKEN_SECONDS = 14 * 60.0
_ACKNOWLEDGED_SECONDS = 4.0
_MOST = 1000


class _Command:
    """A command used in a server, whose first answer, seen by its user alone, may be replaced."""

    def __init__(self, interaction: Interaction, until: float) -> None:
        user = interaction.user or (interaction.member.user if interaction.member else None)
        self.person = user.id if user else ""
        self.application = interaction.application_id
        self.token = interaction.token
        self.until = until
        self.acknowledged = asyncio.Event()


class PrivateReplies:
    """The commands that were used in servers lately. In a direct chat nobody else reads."""

    def __init__(self, http: DiscordHttp, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._commands: dict[str, _Command] = {}

    def used(self, interaction: Interaction) -> None:
        """A command, or the press of a button; before it is admitted."""
        within = interaction.guild_id and is_snowflake(interaction.application_id)
        if is_command(interaction) and within:
            until = self._clock.monotonic() + _TOKEN_SECONDS
            self._commands[interaction.id] = _Command(interaction, until)
            while len(self._commands) > _MOST:
                del self._commands[next(iter(self._commands))]

    def acknowledged(self, interaction: Interaction, *, well: bool) -> None:
        """Discord has taken the first answer, or not."""
        command = self._commands.get(interaction.id)
        if command is not None:
            command.acknowledged.set()
            if not well:
                del self._commands[interaction.id]

    def waiting(self, person: str) -> bool:
        """Whether that person used a command that may be answered yet."""
        now = self._clock.monotonic()
        commands = self._commands.values()
        return any(command.person == person and now <= command.until for command in commands)

    async def replace(self, part: OutboundPart, person: str) -> str:
        """Make the first answer to a command of that person this part; returns the message id. It
        may be done again. Raises as Channel.send: Refused where the part is not the whole answer,
        or comes too late."""
        payload = payload_of(part)
        command = self._commands.get(payload.answers or "")
        if command is None or command.person != person or self._clock.monotonic() > command.until:
            raise Refused("it is not the answer to a command of theirs")
        with suppress(TimeoutError):
            async with asyncio.timeout(_ACKNOWLEDGED_SECONDS):
                await command.acknowledged.wait()
        if payload.answers not in self._commands:
            raise Refused("Discord did not take the first answer")
        try:
            answer = await self._http.edit_first_answer(
                command.application, command.token, {"content": None} | body(part)
            )
        except Refusal as refusal:
            if refusal.status in {401, 403, 404}:
                del self._commands[payload.answers]
                raise Refused(f"Discord: {refusal}") from refusal
            raise delivery_error(refusal) from refusal
        number = answer.get("id") if isinstance(answer, dict) else None
        return str(number or payload.answers)
