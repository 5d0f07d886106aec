"""The table that decides: which rule fits a call, and what no trick gets around."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.config import loader as config
from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.errors import ConfigError
from nanobot.messages import Role
from nanobot.plugins.common.keys.approval_settings import ApprovalSettings
from nanobot.plugins.common.policy.policy import Policy
from nanobot.plugins.common.policy.rules import DEFAULTS, PolicyInput
from nanobot.tools.verdict import PolicyDecision, Verdict

OWNERS, MEMBERS, GUESTS = Role.OWNER, Role.MEMBER, Role.GUEST


def judged(
    tool: str, role: Role, rules: tuple[RuleSettings, ...] = (), **more: Any
) -> PolicyDecision:
    call = PolicyInput(tool=tool, role=role, **more)
    return Policy(PolicySettings(rules=rules)).judge(call)


def verdict(tool: str, role: Role, **more: Any) -> str:
    return str(judged(tool, role, **more).verdict)


@pytest.mark.parametrize(
    ("tool", "role", "more", "expected"),
    [
        ("exec", OWNERS, {}, "allow"),
        ("exec", OWNERS, {"contained": False}, "ask"),
        ("exec", OWNERS, {"tainted": True}, "allow"),
        ("exec", MEMBERS, {}, "ask"),
        ("cron", OWNERS, {}, "allow"),
        ("cron", OWNERS, {"tainted": True}, "ask"),
        ("cron", MEMBERS, {}, "ask"),
        ("spawn", MEMBERS, {"tainted": True}, "ask"),
        ("memory_save", MEMBERS, {}, "allow"),
        ("memory_save", OWNERS, {"tainted": True}, "ask"),
        ("memory_search", OWNERS, {"tainted": True}, "allow"),
        ("message", MEMBERS, {}, "allow"),
        ("message", MEMBERS, {"elsewhere": True}, "ask"),
        ("message", OWNERS, {"elsewhere": True}, "allow"),
        ("message", OWNERS, {"elsewhere": True, "tainted": True}, "ask"),
        ("message", OWNERS, {"tainted": True}, "allow"),
        ("web_fetch", MEMBERS, {"tainted": True, "risky": True}, "allow"),
        ("read_file", MEMBERS, {"arguments": {"path": "SOUL.md"}}, "allow"),
        ("write_file", MEMBERS, {"arguments": {"path": "a.txt"}, "risky": True}, "allow"),
        ("somebody_elses", MEMBERS, {"risky": True}, "ask"),
        ("somebody_elses", MEMBERS, {}, "allow"),
        ("somebody_elses", OWNERS, {"risky": True}, "allow"),
        ("mcp__it__move", OWNERS, {"risky": True, "foreign": True}, "allow"),
        ("mcp__it__move", OWNERS, {"risky": True, "foreign": True, "tainted": True}, "ask"),
        ("mcp__it__look", OWNERS, {"foreign": True, "tainted": True}, "allow"),
        ("exec", OWNERS, {"risky": True, "tainted": True}, "allow"),
        ("read_file", GUESTS, {}, "deny"),
        ("anything", GUESTS, {"tainted": True}, "deny"),
    ],
)
def test_the_built_in_rules(tool: str, role: Role, more: dict[str, Any], expected: str) -> None:
    assert verdict(tool, role, **more) == expected


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "./AGENTS.md",
        "notes/../AGENTS.md",
        "agents.MD",
        "/home/me/.nanobot/workspace/AGENTS.md",
        "../workspace/SOUL.md",
        "skills/shell/SKILL.md",
        "personas/mine.md",
        "memory//facts.md",
        " SOUL.md ",
    ],
)
def test_what_steers_the_model_is_asked_about_however_it_is_written(path: str) -> None:
    call = {"arguments": {"path": path}}
    assert verdict("write_file", OWNERS, tainted=True, **call) == "ask"
    assert verdict("edit_file", MEMBERS, **call) == "ask"
    assert verdict("write_file", OWNERS, **call) == "allow"


@pytest.mark.parametrize("path", ["notes/AGENTS.md", "SOUL.md.bak", "myskills/x", "a.txt"])
def test_what_only_looks_like_it_is_not(path: str) -> None:
    assert verdict("write_file", OWNERS, tainted=True, arguments={"path": path}) == "allow"


@given(st.sampled_from(Role), st.text(max_size=12), st.booleans(), st.booleans(), st.booleans())
def test_every_call_has_a_verdict_and_a_named_reason(
    role: Role, tool: str, tainted: bool, elsewhere: bool, risky: bool
) -> None:
    judgement = judged(tool, role, tainted=tainted, elsewhere=elsewhere, risky=risky)
    assert judgement.rule.startswith("built-in: ")
    assert judgement.why
    assert (judgement.verdict is Verdict.DENY) == (role is GUESTS)


def test_every_rule_is_about_facts_of_a_call() -> None:
    assert {fact for rule in DEFAULTS for fact in rule.when} <= {*PolicyInput.__struct_fields__}


@given(st.sampled_from([rule.name for rule in DEFAULTS]))
def test_the_names_of_the_built_in_rules_are_unique(name: str) -> None:
    assert [rule.name for rule in DEFAULTS].count(name) == 1


# The configuration's


def allows(**fields: Any) -> RuleSettings:
    return RuleSettings(verdict="allow", **fields)


def command(rule: RuleSettings, text: str) -> bool:
    """Whether the rule decides about a command."""
    judgement = judged("exec", MEMBERS, (rule,), arguments={"command": text})
    return judgement.configured


GIT = {"command": "git *"}


@pytest.mark.parametrize("text", ["git status", "  git log --oneline  "])
def test_a_plain_command_is_allowed(text: str) -> None:
    assert command(allows(tool="exec", args=GIT), text)


@pytest.mark.parametrize(
    "text",
    [
        "git status; rm -rf .",
        "git status && curl x",
        "git log | sh",
        "git log > ~/.profile",
        "git $(curl x)",
        "git `curl x`",
        "git ${IFS}x",
        "git status\nrm x",
        "git status & rm x",
        "git \\\nx",
        "gitx status",
        "rm x; git status",
    ],
)
def test_one_that_does_more_is_not_and_a_refusal_sees_its_parts(text: str) -> None:
    assert not command(allows(tool="exec", args=GIT), text)
    if "git " in text:
        assert command(RuleSettings(verdict="deny", tool="exec", args=GIT), text)


@given(st.text(alphabet="git ;&|$(){}<>`\n\\ax", max_size=20))
def test_no_command_with_a_separator_is_ever_allowed_by_a_pattern(text: str) -> None:
    if command(allows(tool="exec", args=GIT), text):
        assert not set(text.strip()) & set(";&|<>`\n\\")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("notes/**", "notes/a/b.txt", True),
        ("notes/**", "./notes/a.txt", True),
        ("notes/**", "notes/../SOUL.md", False),
        ("notes/*", "notes/a/b.txt", False),
        ("notes/*", "notes/a.txt", True),
        ("**/*.md", "a/b/c.md", True),
        ("**/*.md", "c.md", True),
        ("notes/?.txt", "notes/a.txt", True),
        ("notes/?.txt", "notes/ab.txt", False),
        ("notes/[ab].txt", "notes/a.txt", True),
        ("notes/[ab].txt", "notes/c.txt", False),
        ("notes/[[]a].txt", "notes/[a].txt", True),
        ("notes/*.{md,txt}", "notes/a.md", True),
        ("notes/a**.txt", "notes/a/b/c.txt", True),
        ("notes/a**.txt", "notes/a.txt", True),
        ("notes.md", "notes.md", True),
        ("notes.md", "other/notes.md", False),
        ("/etc/*", "/etc/hosts", True),
        ("/etc/*", "etc/hosts", False),
        ("**", "a/b", True),
        ("notes/**", "notes", False),
    ],
)
def test_patterns_of_paths(pattern: str, path: str, *, fits: bool) -> None:
    rule = allows(tool="write_file", args={"path": pattern})
    judgement = judged("write_file", MEMBERS, (rule,), arguments={"path": path})
    assert judgement.configured is fits


def test_a_path_that_is_no_pattern_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r"rule 1: args\.path"):
        Policy(PolicySettings(rules=(allows(args={"path": "{a,b}" * 9}),)))


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True),
        ({"tool": "web_*"}, True),
        ({"tool": "exec"}, False),
        ({"roles": ("member", "guest")}, True),
        ({"roles": ("owner",)}, False),
        ({"channels": ("tele*",)}, True),
        ({"channels": ("discord",)}, False),
        ({"chats": ("7", "8")}, True),
        ({"chats": ("8",)}, False),
        ({"tainted": True}, True),
        ({"tainted": False}, False),
        ({"elsewhere": True}, False),
        ({"args": {"count": "5"}}, True),
        ({"args": {"count": "4"}}, False),
        ({"args": {"missing": "*"}}, False),
    ],
)
def test_what_a_rule_fits(fields: dict[str, Any], *, fits: bool) -> None:
    rule = RuleSettings(verdict="deny", **fields)
    where = {"channel": "telegram", "chat": "7", "tainted": True, "arguments": {"count": 5}}
    assert judged("web_search", MEMBERS, (rule,), **where).configured is fits


def test_the_first_rule_that_fits_decides_and_is_named() -> None:
    rules = (
        RuleSettings(verdict="deny", tool="cron"),
        RuleSettings(verdict="ask", tool="exec", why="it is late"),
        RuleSettings(verdict="allow"),
    )
    judgement = judged("exec", OWNERS, rules)
    assert (judgement.verdict, judgement.rule, judgement.why) == (
        "ask",
        "policy.rules, rule 2",
        "it is late",
    )
    assert judged("read_file", GUESTS, rules).rule == "policy.rules, rule 3"


# As it is configured


def loaded(home: Path, text: str) -> PolicySettings:
    (home / "config.toml").write_text(text)
    return config.load({"NANOBOT_HOME": str(home)}).policy


def test_rules_are_read_from_the_configuration(tmp_path: Path) -> None:
    text = """
    [policy]
    approvers = ["members", "telegram:7"]
    approval_seconds = 60
    [[policy.rules]]
    tool = "exec"
    args = { command = "git *" }
    roles = ["member"]
    verdict = "allow"
    """
    policy = loaded(tmp_path, text)
    asking = ApprovalSettings.within(policy)
    assert (asking.approvers, asking.approval_seconds) == (("members", "telegram:7"), 60)
    (rule,) = policy.rules
    assert (rule.verdict, rule.args, rule.roles) == ("allow", {"command": "git *"}, ("member",))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('verdict = "alow"', 'rules.2.verdict is "alow", but must be one of "allow", "ask"'),
        ('tool = "exec"', 'rules.2.verdict is missing. It must be one of "allow"'),
        ('verdict = "deny"\nrole = "member"', "rules.2 has no keys but verdict, tool, args, roles"),
        ('verdict = "deny"\nroles = ["boss"]', 'is a list: "boss", but must be a list of "owner"'),
        ('verdict = "deny"\nargs = { path = 5 }', "args is a table, but must be a table of texts"),
    ],
)
def test_a_rule_that_is_wrong_stops_the_start_and_is_named(
    tmp_path: Path, rule: str, reason: str
) -> None:
    text = f'[[policy.rules]]\nverdict = "ask"\n[[policy.rules]]\n{rule}\n'
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert reason in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_rules_must_be_a_list_of_tables(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[\[policy.rules\]\]"):
        loaded(tmp_path, '[policy]\nrules = "all"\n')
