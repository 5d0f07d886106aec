"""The texts of keys are in databases of years ago."""

from __future__ import annotations

from nanobot.plugins.common.jobs.job_keys import JOBS, job_of
from nanobot.plugins.progress.previews import answer_of
from nanobot.session import keys


def test_the_texts_of_keys_never_change() -> None:
    assert keys.REPORTS.of("r1") == "run:r1"
    assert keys.APPROVALS.of(7) == "approval:7"
    assert keys.APPROVALS.of(7, "telegram:1:2") == "approval:7:telegram:1:2"
    assert JOBS.of(3) == "cron:3"
    assert JOBS.of(3, f"{1.5:.3f}", 2) == "cron:3:1.500:2"
    assert keys.TASKS.of("r1") == "task:r1"
    assert keys.answer("r1") == "r1:0"
    assert keys.answer("r1", 7) == "r1:0:7"


def test_what_a_key_is_about_is_read_from_it() -> None:
    assert keys.APPROVALS.id_of("approval:7:telegram:1:2") == "7"
    assert JOBS.id_of("cron:3:1.500:2") == "3"
    assert job_of("cron:3:1.500:2") == 3
    for other in ("3", "run:3", "cron:", "cron:x", "cron:\u0663", f"cron:{10**18}"):
        assert job_of(other) is None
    assert answer_of(keys.answer("r1", 7)) == keys.answer("r1")
