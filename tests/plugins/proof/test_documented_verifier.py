"""The program in docs/proof.md verifies exports with nothing but Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.plugins.proof.logs import Log, found, replied, said

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "proof.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def verify(folder: Path, export: bytes, head: str) -> tuple[int, str]:
    program, file = folder / "verify.py", folder / "log.jsonl"
    program.write_text(PROGRAM)
    file.write_bytes(export)
    ran = subprocess.run(
        [sys.executable, "-I", "-S", program, file, head],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, (ran.stdout + ran.stderr).strip()


async def test_it_finds_what_was_changed_and_proves_what_was_left_out(tmp_path: Path) -> None:
    one = Log([said('Ünï "quoted"\n'), found(""), replied("two")], "web:ö \U0001f600")
    await one.erase(3)
    head = (await one.head()).hex()
    whole, less = await one.exported(), await one.exported("all", after=1)
    assert verify(tmp_path, whole, head) == (0, "proven up to entry 4")
    assert verify(tmp_path, less, head) == (0, "proven up to entry 4")
    assert verify(tmp_path, whole.replace(b"quoted", b"Quoted"), head) == (
        1,
        "entry 1 does not fit",
    )
    assert verify(tmp_path, less.replace(b'"seq":3', b'"seq":4'), head)[1] == "entry 3 does not fit"
    lines = whole.splitlines(keepends=True)
    cut = b"".join([*lines[:3], lines[-1]])
    assert verify(tmp_path, cut, head)[1] == "the export was cut, or is of another log"
