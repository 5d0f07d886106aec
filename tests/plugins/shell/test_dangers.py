"""What is no danger is let alone, and no text confuses the judge of commands.

The dangerous ones are among the attacks: tests/security/test_command.py."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.shell.commandline import MAX_CALLS, parse
from nanobot.plugins.shell.dangerous_commands import KINDS, command_risks

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
    "PAGER=cat git log",
    "GIT_EDITOR=true git rebase -i HEAD~2",
    "EDITOR=vim git commit",
    "GIT_PAGER= git diff",
    "PYTHONPATH=src pytest -q",
    "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
    "FOO=bar make",
    "env FOO=1 python3 x.py",
    'eval "$(ssh-agent -s)"',
    'eval "$(pyenv init -)"',
    'sh -c "cd $DIR && make"',
    "bash -c 'echo hello'",
    "find . -name x -exec sh -c 'wc -l \"$1\"' _ {} \\;",
    "awk '{print $1 | \"sort\"}' x",
    "awk '{system(\"echo \" $1)}' x",
    "sed 's/a/b/' x",
    "sed -e 's/the/e x/' file",
    "vim -c 'set nu' x",
    "tar -czf a.tgz dir",
    "tar --use-compress-program=zstd -cf a dir",
    "rsync -av -e ssh a/ host:b/",
    "ssh -o StrictHostKeyChecking=no host ls",
    "ssh -o ProxyCommand='nc -X 5 %h %p' host",
    "git -c user.name=x commit -m y",
    "git config user.email a@b.c",
    "git config core.editor vim",
    "git config alias.st status",
    'python3 -c \'open("out.txt","w").write("x")\'',
    "python3 -c 'print(open(\"data.csv\").read())'",
    "python3 -c 'import json,sys; print(json.load(open(\"a.json\")))'",
    "python3 - <<'EOF'\nprint(\"hi\")\nEOF",
    "man ls",
    "make -j4 test",
    "find . -name '*.py' -fprint list.txt",
    "tmux ls",
    "export EDITOR=nano",
    'export PATH="$HOME/bin:$PATH"',
    "source .venv/bin/activate",
    '. "$VENV/bin/activate"',
    "git log --oneline | head",
    "sort -u x",
    "echo x | xargs -n1 echo",
    'CMD="ls -l"; $CMD',
    'CMD="ls -l"; sh -c "$CMD"',
    'for f in a b; do bash -c "echo $f"; done',
    "curl -o x.json https://a.example/x.json",
    "less +G file",
    "hyperfine 'sleep 1'",
    "",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_let_alone(command: str) -> None:
    assert command_risks(command) == ()


@given(st.text(alphabet=st.sampled_from("rm -f/$(){}|&;<>`'\"\\\n a*~=:[]!#")))
def test_no_text_however_broken_makes_it_fail(text: str) -> None:
    assert all(risk.kind in KINDS for risk in command_risks(text))


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    command_risks(text)


@pytest.mark.process
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


@pytest.mark.parametrize(
    "line",
    [
        "awk '" + 'system("a");' * 5_000 + "'",
        "vim " + "-c '!ls' " * 3_000,
        "env " + "A=1 " * 5_000,
        "git " + "-c alias.x='!git -c alias.y=!ls y' " * 1_000,
        "python3 -c '" + 'open("a","w");' * 5_000 + "'",
        "env -S '" + "env -S " * 3_000 + "'",
    ],
    ids=["awk", "vim", "env", "git", "python", "split"],
)
def test_what_stands_within_options_is_looked_at_up_to_a_bound(line: str) -> None:
    calls = parse(line)
    assert len(calls.calls) <= MAX_CALLS
    assert calls.unclear or line.startswith("env A")


@pytest.mark.parametrize(
    ("typed", "dangers"),
    [
        ("print(6 * 7)", []),
        ("select * from t where (a = 'b'", []),
        ("rm -rf /", ["delete"]),
        ("sh -c 'rm -rf ~'", ["delete"]),
    ],
)
def test_what_is_typed_into_a_terminal_need_not_be_shell(typed: str, dangers: list[str]) -> None:
    line = f"tmux -S .tmux/main send-keys -t work -l {shlex.quote(typed)} && tmux ls"
    assert [risk.kind for risk in command_risks(line)] == dangers
    assert command_risks("echo $(")[0].kind == "unclear"
