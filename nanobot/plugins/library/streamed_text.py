"""The text of a run, as a program that follows it reads it."""

from __future__ import annotations

from nanobot.messages import EventKind, RunEvent


class StreamedText:
    """The streamed text of a run's model calls, and how the run ended if that adds anything: a
    limit, an error, a warning. A watcher may lose events; missing text of a call is added when the
    call ends. An answer that was held back is followed by an empty line."""

    def __init__(self) -> None:
        self._call = 0
        self._text = ""
        self._last = ""

    def added_by(self, event: RunEvent) -> str:
        if event.model_call != self._call and event.kind is not EventKind.END:
            self._call, self._text = event.model_call, ""
        if event.kind is EventKind.MODEL_DELTA:
            piece = event.payload.get("text", "")
            self._text += piece
            self._last = self._text or self._last
            return piece
        if event.kind is EventKind.ASSISTANT_MESSAGE:
            whole = event.payload.get("text", "")
            missing = whole.removeprefix(self._text) if whole.startswith(self._text) else ""
            self._text = whole
            self._last = whole if whole.strip() else self._last
            return missing
        if event.kind is EventKind.STATUS and event.payload.get("state") == "objected":
            return "\n\n" if self._text else ""
        if event.kind is EventKind.END:
            return self._ended(event.payload.get("text", ""))
        return ""

    def _ended(self, text: str) -> str:
        for last in (self._last, self._last.strip()):
            if last and text.startswith(last):
                return text.removeprefix(last)
        return f"\n\n{text}" if text and self._last else text
