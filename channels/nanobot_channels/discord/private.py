"""Content that only one person of a server sees: answers to slash commands and to presses of
buttons.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nanobot.errors import Refused
from nanobot.ports import Clock, OutboundPart
from nanobot_channels.common.recent import Recent
from nanobot_channels.common.shapes import table
from nanobot_channels.discord.http import DiscordHttp, Refusal, delivery_error
from nanobot_channels.discord.interactions import Interaction, alone, is_command
from nanobot_channels.discord.messages import is_snowflake
from nanobot_channels.discord.parts import body, payload_of

# A token is valid for 15 minutes.
_TOKEN_SECONDS = 14 * 60.0
_ACKNOWLEDGED_SECONDS = 4.0
_MOST = 1000


class _Command:
    """A command used in a server. Its first answer, which only its user sees, may be replaced."""

    def __init__(self, interaction: Interaction, until: float) -> None:
        user = interaction.user or (interaction.member.user if interaction.member else None)
        self.person = user.id if user else ""
        self.application = interaction.application_id
        self.token = interaction.token
        self.until = until
        self.acknowledged = asyncio.Event()


class PrivateReplies:
    """The recent commands in servers. A direct chat has no other readers."""

    def __init__(self, http: DiscordHttp, clock: Clock) -> None:
        self._http = http
        self._clock = clock
        self._commands: Recent[str, _Command] = Recent(_MOST)
        self._pressed: Recent[tuple[str, str], str] = Recent(_MOST)

    def used(self, interaction: Interaction) -> None:
        """A command, or the press of a button; before it is admitted."""
        within = interaction.guild_id and is_snowflake(interaction.application_id)
        if within and (is_command(interaction) or interaction.message):
            until = self._clock.monotonic() + _TOKEN_SECONDS
            command = self._commands[interaction.id] = _Command(interaction, until)
            if interaction.message:  # the answer to a press names the message of the button
                self._pressed[interaction.message.id, command.person] = interaction.id

    def acknowledged(self, interaction: Interaction, *, well: bool) -> None:
        """Whether Discord accepted the first answer."""
        command = self._commands.get(interaction.id)
        if command is not None:
            command.acknowledged.set()
            if not well:
                del self._commands[interaction.id]

    def waiting(self, person: str) -> bool:
        """Whether that person used a command that can still be answered."""
        now = self._clock.monotonic()
        commands = self._commands.values()
        return any(command.person == person and now <= command.until for command in commands)

    async def replace(self, part: OutboundPart, person: str) -> str:
        """Replace the first answer to a command of that person by this part; returns the message
        id. It can be repeated. Raises as Channel.send: Refused if the part is not the whole answer,
        or comes too late.
        """
        answers = payload_of(part).answers or ""
        press = self._pressed.get((answers, person))
        number = press or answers
        command = self._commands.get(number)
        if command is None or command.person != person or self._clock.monotonic() > command.until:
            raise Refused("it is not the answer to a command of theirs")
        with suppress(TimeoutError):
            async with asyncio.timeout(_ACKNOWLEDGED_SECONDS):
                await command.acknowledged.wait()
        if number not in self._commands:
            raise Refused("Discord did not take the first answer")
        where = (command.application, command.token)
        try:
            if press is None:
                answer = await self._http.edit_first_answer(*where, {"content": None} | body(part))
            else:
                answer = await self._http.follow_up(*where, alone(body(part)))
        except Refusal as refusal:
            if refusal.status in {401, 403, 404}:
                del self._commands[number]
                raise Refused(f"Discord: {refusal}") from refusal
            raise delivery_error(refusal) from refusal
        return str(table(answer).get("id") or number)
