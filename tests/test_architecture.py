"""The rules that review alone would forget. Every list of exceptions here may only shrink."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.syntax import ROOT, SOURCES, nodes, tree

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
# The way of a message, by whole folders: lines of code. Docstrings and comments may be as long as a
# reader needs.
MAX_MESSAGE_PATH_LINES = 7_530
MESSAGE_PATH = (
    *("messages.py", "ports/**/*.py", "errors.py", "session/**/*.py", "bus/**/*.py"),
    *("agent/*.py", "store/journal/**/*.py", "store/unit.py"),
)
# What may stand at the root of the package. ARCHITECTURE.md says what lives where.
ROOMS = frozenset(
    {
        *("agent", "app", "bus", "channels", "cli", "config", "operations"),
        *("providers", "session", "store", "tools", "workspace"),
        "texts",
        *(
            "__init__.py",
            "__main__.py",
            "addresses.py",
            "boundary.py",
            "errors.py",
            "forgetting.py",
            "labels.py",
            "log_context.py",
            "messages.py",
            "promised.py",
            "pytest_cases.py",
            "retries.py",
            "testing",
        ),
        *("plugins", "ports", "seam", "supervision.py", "system.py", "text.py"),
        "troubles.py",
        *("visible.py", "zones.py"),
    }
)

# Files and functions above the limits, as "path" or "path:function". None may be added.
TOO_LONG: frozenset[str] = frozenset()

BROAD = frozenset({"Exception", "BaseException"})
CATCH_EVERYTHING = frozenset(
    {
        "nanobot/boundary.py",
        "nanobot/store/database/sqlite.py",  # carries an error from its thread to the caller
    }
)
# Modules of plugins that are loaded where their plugin is on: a plugin itself, its
# settings and operations are read earlier. SQL is in their modules `store` and `tables`.
PLUGIN_PARTS = tuple(
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in sorted((ROOT / "nanobot" / "plugins").glob("*/**/*.py"))
    if file.stem not in ("__init__", "settings", "operations", "views")
)
PLUGIN_STORES = tuple(
    f"nanobot/plugins/{folder.name}/{place}"
    for folder in sorted((ROOT / "nanobot" / "plugins").iterdir())
    for place in ("store.py", "store/", "tables.py")
)
SQLITE_STORES = tuple(f"nanobot/plugins/{name}/store/" for name in ("erasure", "maintenance"))
# What a gateway has not loaded when it begins: each is for what is configured, called or written.
# A room that need not be there at a start belongs here.
NOT_AT_START = (
    "nanobot.testing",
    "nanobot.plugins.common.keys.config_file",
    *("nanobot.plugins.hooks.webhook", "nanobot.plugins.claims.claims"),
    *("nanobot.providers.openai_compat", "nanobot.providers.plugins"),
    "nanobot.plugins.http.application_factory",
    "nanobot.plugins.http_api.watching",
    *("nanobot.plugins.events.store", "nanobot.store.database.migrations"),
    *PLUGIN_PARTS,
    *(
        "sqlalchemy.dialects.postgresql",
        "alembic",
        "nanobot_channels",
        "telegram",
        "aiohttp",
        "markdown_it",
        "yaml",
        "rich",
        "regex",
    ),
)
# What is loaded before the first message: the modules of a gateway, the operations of all plugins,
# one channel and one way to models. Each module costs about a millisecond; the limit only shrinks.
AT_A_START = (
    "import nanobot.cli.serve",
    "from nanobot.operations.catalogue import plugin_operations",
    "import nanobot_channels.telegram, nanobot.providers.openai_compat",
)
MODULES_AT_A_START = 1_300
# A migration lists the tables of its day; nobody edits it again.
FROZEN = "nanobot/store/database/migrations/versions/"

# What each of them was when it landed, as sha256.
REVISION_DIGESTS = {
    "0001": "f5b9d9a9c4ff6db50a7f595b8adae481224a1529753a6d2e06efe6fdaf5a094d",
    "0002": "54c6c1f9a8fb14b2188b310375be71de88df31f3952b2525f2be13f658c815f4",
    "0003": "bf63b37e018286dee23473165e4383d153fa68a678863f2c5975ea2315508618",
    "0004": "7c8a9c61ffa2a8debef9ac5c7d2320c6453885bd15d66bdffd87d8f732dbe834",
    "0005": "c868fe305dff91f169a646bdea4ced507138c191cb6f36c9d2e42c5b79a64af5",
    "0006": "8813ad93f7f61d93663c55399f7556b19cdfda5d99ba3e2c97a6a4ec5b5b0433",
    "0007": "82c720314f1d959d70fc594039b92e57ff20e2cb77cc4a6535bfa12269cd025e",
    "0008": "343afa55c38fde075bed97deb83eb631629546a081b10938a587be6bec53c2cb",
    "0009": "9d1ae563b0fde1c43ad92db7ac3f7cba30cb634a3d81bea39f9879c2dc690491",
    "0010": "9e2e0f4e487a3571687dd7d9dabbae91fb6d33b97a093bf1eb17d7bbb479f087",
    "0011": "e837f20a90f076da1f24da222448f204857d334711e72a40c1b599c69004a7f5",
    "0012": "695068b2486173105ec6b3295040fcaa92ea7a099751dcb29fed4655fb41c8b9",
}

TESTS = sorted(ROOT.glob("tests/**/*.py"))


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@cache
def imports(file: Path) -> frozenset[str]:
    modules: set[str] = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return frozenset(modules)


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(file):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring: explaining more must not cost anything."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function) is not None:
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def importers(module: str) -> set[str]:
    return {
        name(file)
        for file in SOURCES
        if any(
            imported == module or imported.startswith(f"{module}.") for imported in imports(file)
        )
    }


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 10


def test_no_file_is_too_long_to_read_at_one_sitting() -> None:
    long = {
        name(file) for file in SOURCES if len(file.read_text("utf-8").splitlines()) > MAX_FILE_LINES
    }
    assert long <= TOO_LONG


@pytest.mark.process
def test_no_function_is_too_long_to_see_at_once() -> None:
    long = {
        f"{name(file)}:{function.name}"
        for file in SOURCES
        if not name(file).startswith(FROZEN)
        for function in functions(file)
        if body_lines(function) > MAX_FUNCTION_LINES
    }
    assert long <= TOO_LONG


def test_the_exceptions_are_still_needed() -> None:
    """What was mended must leave the list, or it could come back."""
    for entry in TOO_LONG:
        path, _, function = entry.partition(":")
        lines = len((ROOT / path).read_text("utf-8").splitlines())
        if function:
            lines = max(body_lines(f) for f in functions(ROOT / path) if f.name == function)
        assert lines > (MAX_FUNCTION_LINES if function else MAX_FILE_LINES), entry


def code_lines(file: Path) -> int:
    """Lines with something on them that is neither a docstring nor a comment."""
    texts = {
        number
        for node in nodes(file)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(file.read_text("utf-8").splitlines(), 1)
    code = ((number, line.strip()) for number, line in lines)
    return sum(bool(line) and line[0] != "#" and number not in texts for number, line in code)


def test_the_way_of_a_message_stays_short() -> None:
    files = {file for pattern in MESSAGE_PATH for file in (ROOT / "nanobot").glob(pattern)}
    assert len(files) > 40
    assert sum(code_lines(file) for file in files) <= MAX_MESSAGE_PATH_LINES


def test_nothing_lies_loose_at_the_root() -> None:
    roots = {file.relative_to(ROOT / "nanobot").parts[0] for file in ROOT.glob("nanobot/**/*.py")}
    assert roots == ROOMS


READ_THE_WRITTEN_URL = {
    "nanobot/config/loader.py",
    "nanobot/store/servers.py",
    "nanobot/plugins/audit/auditor.py",  # how far it is away
    "nanobot/cli/serve.py",  # whether it can be shared
    "nanobot/tools/redact.py",  # its password
    "nanobot/plugins/setup/doctor/optional_parts.py",  # what it needs
}


def swallows(file: Path) -> Iterator[ast.ExceptHandler]:
    """Handlers of every error, but those that pass it on: `except BaseException: undo(); raise`."""
    for node in nodes(file):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.walk(node.type) if node.type else iter([ast.Name("Exception")])
            broad = any(isinstance(n, ast.Name) and n.id in BROAD for n in caught)
            last = node.body[-1]
            if broad and not (isinstance(last, ast.Raise) and last.exc is None):
                yield node


def test_only_the_boundary_catches_everything() -> None:
    assert {name(file) for file in SOURCES if any(swallows(file))} <= CATCH_EVERYTHING


@pytest.mark.parametrize(
    ("module", "folder"),
    [
        ("litellm", "nanobot/plugins/litellm/"),
        ("xllamacpp", "nanobot/plugins/embedded/"),
        ("sqlalchemy", ("nanobot/store/", *PLUGIN_STORES)),
        ("alembic", "nanobot/store/database/"),
        ("sqlite3", ("nanobot/store/", *SQLITE_STORES)),
        ("psycopg", "nanobot/plugins/postgres/store/"),
        ("telegram", "channels/nanobot_channels/telegram/"),
        ("discord", "channels/nanobot_channels/discord/"),
        ("slack_bolt", "channels/nanobot_channels/slack/"),
        ("slack_sdk", "channels/nanobot_channels/slack/"),
        ("aioimaplib", "channels/nanobot_channels/email/"),
        ("aiosmtplib", "channels/nanobot_channels/email/"),
        ("typer", ("nanobot/plugins/command_line/", "nanobot/plugins/common/questions.py")),
        ("tomllib", ("nanobot/config/values.py", "nanobot/plugins/common/translation/files.py")),
    ],
)
def test_a_heavy_dependency_has_one_door(module: str, folder: str | tuple[str, ...]) -> None:
    assert {file for file in importers(module) if not file.startswith(folder)} == set()


def test_the_url_of_the_store_is_asked_of_who_knows_whether_its_plugin_is_on() -> None:
    """`config.database_url` is what is written; `nanobot.store.servers.url_of` what can be used."""
    reading = {
        name(file)
        for file in SOURCES
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and node.attr == "database_url"
    }
    assert reading == READ_THE_WRITTEN_URL


def test_a_revision_that_has_landed_is_never_edited() -> None:
    """Databases have been made by it. A new revision gets its line when it is finished."""
    digests = {
        file.name[1:5]: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (ROOT / FROZEN).glob("r*.py")
    }
    assert digests == REVISION_DIGESTS


def test_channels_know_only_the_vocabulary() -> None:
    allowed = {"nanobot.messages", "nanobot.ports", "nanobot.errors", "nanobot.system"}
    allowed |= {"nanobot.text", "nanobot.workspace.images"}
    for file in SOURCES:
        if name(file).startswith("channels/"):
            assert {m for m in imports(file) if m.split(".")[0] == "nanobot"} <= allowed, file


def test_tests_use_fakes_instead_of_mocks() -> None:
    assert {
        name(file)
        for file in TESTS
        if "unittest" in file.read_text("utf-8")
        and "unittest" in {module.split(".")[0] for module in imports(file)}
    } == set()


def test_nothing_is_left_to_do_in_comments() -> None:
    unfinished = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]))
    files = [*SOURCES, *TESTS]
    assert {name(file) for file in files if unfinished.search(file.read_text("utf-8"))} == set()


@cache
def verbs_of_ports() -> set[str]:
    """The functions that are verbs of a port over SQL: what they guarantee is said there."""
    calls = (node for file in SOURCES for node in nodes(file) if isinstance(node, ast.Call))
    return {
        ast.unparse(call.args[0]).rpartition(".")[2]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("verb", "verb") and call.args
    }


def undocumented(file: Path) -> Iterator[str]:
    """Modules, public classes and functions, and the methods of ports, without a docstring.

    What a method or a verb guarantees is said by its port; one that adds nothing to it says
    nothing.
    """
    if ast.get_docstring(tree(file)) is None:
        yield name(file)
    stack: list[tuple[ast.AST, bool]] = [(tree(file), True)]
    while stack:
        parent, obliged = stack.pop()
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_"):
                continue
            if any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list):
                continue
            verb = name(file).startswith("nanobot/store/") and node.name in verbs_of_ports()
            if obliged and not verb and ast.get_docstring(node) is None:
                yield f"{name(file)}:{node.name}"
            if isinstance(node, ast.ClassDef):
                stack.append((node, any("Protocol" in ast.unparse(base) for base in node.bases)))


def test_everything_public_says_what_it_guarantees() -> None:
    silent = [entry for file in SOURCES for entry in undocumented(file)]
    assert silent == []


def test_a_start_loads_no_room_that_it_does_not_need() -> None:
    code = "import nanobot.cli.serve, sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).split()
    early = [m for m in loaded if any(f"{m}.".startswith(f"{room}.") for room in NOT_AT_START)]
    assert early == []


def test_a_gateway_with_telegram_and_a_model_loads_few_modules() -> None:
    code = f"import sys; {'; '.join(AT_A_START)}; plugin_operations(); print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT).split()
    assert len(loaded) <= MODULES_AT_A_START
    foreign = {"alembic", "litellm", "pydantic", "rich", "typer"}
    assert not foreign & set(loaded)


def test_no_files_import_each_other_in_a_circle() -> None:
    def module(file: Path) -> str:
        path = file.relative_to(ROOT).with_suffix("").as_posix().removeprefix("channels/")
        return path.removesuffix("/__init__").replace("/", ".")

    def taken(file: Path) -> set[str]:
        froms = (node for node in nodes(file) if isinstance(node, ast.ImportFrom))
        return {
            where
            for node in froms
            for alias in node.names
            for where in (f"{node.module}.{alias.name}", node.module or "")
            if where in files and files[where] != file
        }

    files = {module(file): file for file in SOURCES if file.name != "__init__.py"}
    arrows = {source: taken(file) for source, file in files.items()}
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names them


def test_the_same_choices_are_written_in_one_order() -> None:
    """Python takes Literals with the same members for equal, and gives the one made first: what
    people read would depend on what was imported before."""
    orders: dict[frozenset[str], set[tuple[str, ...]]] = {}
    for file in SOURCES:
        for node in nodes(file):
            match node:
                case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=members)):
                    words = tuple(map(ast.unparse, members))
                    orders.setdefault(frozenset(words), set()).add(words)
                case _:
                    pass
    assert [each for each in orders.values() if len(each) > 1] == []
