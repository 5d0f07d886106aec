"""Where a text that outlives its conversation comes from."""

from __future__ import annotations

import msgspec

from nanobot import labels
from nanobot.labels import Label, Privacy


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a memory comes from: a run and the range of log entries it was drawn from, or only the
    file if a person wrote it there. `tainted`: untrusted content contributed to it.
    """

    session_key: str = ""
    run_id: str = ""
    first_seq: int | None = None
    last_seq: int | None = None
    file: str = ""
    tainted: bool = False
    label: str = ""

    @property
    def spoken(self) -> Label:
        """The label of the remembered text; at least the label of a person's words."""
        return labels.read(self.label, tainted=self.tainted).join(labels.of(privacy=Privacy.PERSON))
