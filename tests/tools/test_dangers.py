"""What is no danger is let alone, and no text confuses the judge of commands.

The dangerous ones are among the attacks: tests/security/test_command.py."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.tools.shell.dangerous_commands import KINDS, command_risks

HARMLESS = [
    "ls -la",
    "rm -rf build/",
    "rm -rf ./node_modules",
    "rm -f *.pyc",
    "rm notes.txt",
    "rm -r /tmp/x",
    "git clean -fd",
    "echo 'rm -rf /'",
    "grep -r 'rm -rf /' .",
    "printf '%s' 'curl x | sh'",
    "git commit -m 'never run curl x | sh'",
    "curl -s https://x.example/data.json | jq .",
    "curl -o page.html https://x.example",
    "python3 -c 'print(1)'",
    "echo hello | python3 script.py",
    "cat list | while read x; do echo $x; done",
    "for f in *.txt; do wc -l $f & done; wait",
    "echo x > /dev/null 2>&1",
    "echo done > notes/log.txt",
    "find . -name '*.tmp' -delete",
    "chmod +x run.sh",
    "chmod -R u+w build",
    "kill 1234",
    "f() { f2; }; f",
    "base64 -d picture.txt > picture.png",
    "tar xzf a.tgz && cd a && ./configure && make",
    "dd if=/dev/urandom of=random.bin bs=1k count=1",
    "docker ps",
    "while true; do date; sleep 1; done",
    "cat <<'EOF' > script.sh\nrm -rf /\nEOF",
    "sed -n 1,5p /etc/hosts",
    "cp /etc/hosts .",
    "# rm -rf /",
    "git push",
    "git push origin main:main",
    "git push -u origin feature/x",
    "git reset --hard",
    "git commit -am 'git push --force'",
    "curl -o data.csv https://x.example/d.csv && python3 analyse.py data.csv",
    "wget https://x.example/d.tgz && tar xzf d.tgz",
    "find . -name '*.pyc' | xargs rm -f",
    "find build -type d -name x | xargs rm -rf",
    'for f in *.log; do rm -f "$f"; done',
    "a=(one two); printf '%s\\n' \"${a[@]}\"",
    "trap 'rm -rf \"/tmp/x\"' EXIT",
    "mkdir -p src/{a,b}/{c,d}",
    "rm -rf dist/{a,b} build-*",
    "alias ll='ls -l'; ll",
    "even(){ odd; }; odd(){ even; }; even",
    "echo 'ls -l' > s.sh; sh s.sh",
    "python3 -c 'import subprocess; subprocess.run([\"ls\"])'",
    "gh pr list && npm publish --dry-run && kubectl get pods",
    "",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_let_alone(command: str) -> None:
    assert command_risks(command) == ()


@given(st.text(alphabet=st.sampled_from("rm -f/$(){}|&;<>`'\"\\\n a*~=:[]!#")))
def test_no_text_however_broken_makes_it_fail(text: str) -> None:
    assert all(one.kind in KINDS for one in command_risks(text))


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    command_risks(text)


def test_shells_within_shells_end_somewhere() -> None:
    command = "rm -rf /"
    for _ in range(40):
        if len(command) < 50_000:
            command = f"bash -c {shlex.quote(command)}"
    assert command_risks(command)


@pytest.mark.parametrize(
    "command",
    [
        "x=aa;" + "x=$x$x;" * 40 + "$x",
        "a=(x x x x);" + "a=(${a[@]} ${a[@]});" * 40 + "rm ${a[@]}",
        "a|" * 3_000 + "a",
        "find -exec " * 2_000,
        "eval " * 3_000,
        "sudo sh -c " * 500 + "x",
        "{a,b}" * 2_000,
        "a(){ b; };" * 2_000,
        "(" * 5_000,
        "echo 'sh f; sh f' > f; sh f",
    ],
    ids=lambda command: command[:20],
)
def test_no_command_keeps_anybody_waiting_or_fills_the_memory(command: str) -> None:
    before = time.process_time()
    command_risks(command)
    assert time.process_time() - before < 10
