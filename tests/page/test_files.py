"""The files of the page: others' as they were published, ours within what protects readers."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from nanobot.config.plugin_tables import config_file
from nanobot.operations.catalogue import OPERATIONS

PAGE = Path(__file__).resolve().parents[2] / "nanobot/plugins/page/files"
CHECKS = PAGE.parents[3] / "requirements" / "page"
VENDOR = tomllib.loads((PAGE / "vendor" / "vendor.toml").read_text("utf-8"))["library"]
OURS = [file for file in PAGE.rglob("*.js") if file.parent.name not in ("vendor", "locales")]
PLUGINS = {
    folder.parent.name: sorted(file for file in folder.rglob("*.js") if file.name != "zh.js")
    for folder in sorted(PAGE.parents[1].glob("*/page"))
    if folder.parent != PAGE.parents[1]
}
"""The modules of plugins' views."""
STYLES = [
    *sorted((PAGE / "styles").glob("*.css")),
    *sorted(PAGE.parents[1].glob("*/page/*.css")),
]
PRINTED = PAGE / "styles" / "print.css"
"""What is on paper looks otherwise; browsers load it last of all."""
FIRST_VIEW = ("app.js", "views/chat.js", "views/chat/thread.js")
FIRST = 299_000
"""Bytes that the first view may have."""


def test_what_others_made_is_as_they_published_it() -> None:
    files = {name: digest for library in VENDOR for name, digest in library["sha256"].items()}
    for name, digest in files.items():
        assert hashlib.sha256((PAGE / "vendor" / name).read_bytes()).hexdigest() == digest, name
    assert {file.name for file in (PAGE / "vendor").iterdir()} == {*files, "vendor.toml"}


def test_each_library_names_its_version_licence_and_hash() -> None:
    for library in VENDOR:
        assert library["version"]
        assert library["licence"]
        assert library["integrity"].startswith("sha512-")
        assert any(name.endswith(".LICENSE") for name in library["sha256"])


def test_the_types_of_the_libraries_are_those_of_the_versions_here() -> None:
    """What checks the page takes the types from the packages that the files come from."""
    package = json.loads((CHECKS / "package.json").read_text("utf-8"))["devDependencies"]
    named = {"@highlightjs/cdn-assets": "highlight.js"}
    for library in VENDOR:
        name = named.get(library["name"], library["name"])
        assert package[name] == library["version"], name


def test_the_checks_name_no_registry() -> None:
    lock = json.loads((CHECKS / "package-lock.json").read_text("utf-8"))
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-")


def test_no_line_is_over_100_characters() -> None:
    """A text that stands alone may be longer: breaking it would hide it from those who search."""
    alone = re.compile(r"""\s*(?:\w+: |"[^"]+": )?"(?:[^"\\]|\\.)*"[:,]?""")
    own = [*PAGE.rglob("*.js"), *PAGE.rglob("*.css"), *CHECKS.glob("*.mjs")]
    folders = [*own, *STYLES, *(file for files in PLUGINS.values() for file in files)]
    long = [
        f"{file.name}:{number}"
        for file in folders
        if file.parent.name != "vendor"
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if len(line) > 100 and not alone.fullmatch(line)
    ]
    assert long == []


def test_the_checks_know_each_operation_by_its_arguments_and_its_result() -> None:
    command = [sys.executable, str(CHECKS / "api_types.py")]
    types = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert '"cron run": { takes: { "job": string; }; gives: JobView };' in types
    assert re.search(r"export type RuleView = { [^}]*\"subject\": string;", types)
    for operation in OPERATIONS:
        assert not operation.listed or f'"{operation.name}": {{ takes: ' in types, operation.name


def test_nothing_stands_in_the_page_that_its_policy_forbids() -> None:
    for file in PAGE.glob("*.html"):
        text = file.read_text("utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=", text), file.name
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text), file.name


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in [*OURS, *PAGE.rglob("*.css")]:
        text = file.read_text("utf-8")
        assert not re.search(r"(?:import|from|fetch|url)\W{1,3}(?:https?:)?//", text), file.name


def test_a_class_looks_as_one_place_says() -> None:
    """A view that styles a name again changes the other views that have it, too."""
    places: dict[str, list[str]] = {}
    for file in {*STYLES} - {PRINTED}:
        text = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
        for selector in re.findall(r"^([^\s@}][^{}]*?)\s*\{", text, re.MULTILINE):
            places.setdefault(" ".join(selector.split()), []).append(file.name)
    assert len(places) > 300
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_text_of_the_page_is_there_in_chinese() -> None:
    first, views = translated("zh.js"), translated("zh-views.js")
    assert first & views == set()
    assert len(texts_of(*OURS)) > 200
    assert texts_of(*OURS) - first - views == set()
    assert texts_of(*without_a_view() & {*OURS}) - first == set()


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_views_of_a_plugin_bring_their_texts(plugin: str) -> None:
    """What the page has already, they need not bring; and it has nothing for them alone."""
    page = translated("zh.js") | translated("zh-views.js")
    brought = translated(f"../../../{plugin}/page/zh.js")
    said = texts_of(*PLUGINS[plugin])
    assert said - page - brought == set()
    assert brought & page == set()
    ours = "\n".join(file.read_text("utf-8") for file in OURS)
    assert [text for text in said & page if f'"{text}"' not in ours] == []
    own = "\n".join(file.read_text("utf-8") for file in PLUGINS[plugin])
    assert [text for text in brought if f'"{text}"' not in own] == []


def test_the_page_has_no_style_for_views_of_a_plugin_alone() -> None:
    ours = "\n".join(file.read_text("utf-8") for file in [*OURS, *PAGE.glob("*.html")])
    for plugin, files in PLUGINS.items():
        theirs = "\n".join(file.read_text("utf-8") for file in files)
        for file in (PAGE / "styles").glob("*.css"):
            text = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
            for name in set(re.findall(r"\.([a-z][\w-]*)(?=[^{};]*\{)", text)):
                word = re.compile(rf"\b{name}\b")
                if re.fullmatch(r"c\d", name):  # colours, of which a number chooses one
                    continue
                assert word.search(ours) or not word.search(theirs), f"{plugin}: .{name}"


def translated(name: str) -> set[str]:
    """The texts that a file translates, by its path from the page's locales."""
    chinese = (PAGE / "locales" / name).read_text("utf-8")
    quoted = re.findall(r'^  "((?:[^"\\]|\\.)*)":', chinese, re.MULTILINE)
    return {*quoted, *re.findall(r"^  (\w+):", chinese, re.MULTILINE)}


def without_a_view() -> set[Path]:
    """The first view, and what it imports later that is no other view."""
    frame = {"parts/login.js", "views/settings/visit.js", "notified.js"}
    modules = imported(*FIRST_VIEW, *frame)
    left = [file for file in modules if file.name != "app.js"]
    while left:
        file = left.pop()
        for name in re.findall(
            r"\bimport\(\"(\.[^\"]+)\"\)(?:\.then|\)|;)", file.read_text("utf-8")
        ):
            found = imported(str((file.parent / name).resolve())) - modules
            modules |= found
            left += found
    return modules


def texts_of(*files: Path) -> set[str]:
    """The texts that these files show."""
    return {
        text
        for file in files
        for text in re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', file.read_text("utf-8"))
    }


def test_every_unit_of_a_setting_is_there_in_chinese() -> None:
    schema = json.dumps(msgspec.json.schema(config_file()))
    units = set(re.findall(r'"unit": "([^"]+)"', schema))
    assert {"s", "messages"} <= units
    known = translated("zh.js") | translated("zh-views.js")
    assert units - known - {"%", "bytes", "MB", "USD"} == set()


def imported(*names: str) -> set[Path]:
    """These modules, and all that they import before they run."""
    modules: set[Path] = set()
    left = [PAGE / name for name in names]
    while left:
        file = left.pop()
        if file in modules:
            continue
        modules.add(file)
        text = file.read_text("utf-8")
        imports = re.findall(r'(?:\bfrom|^import)\s*"(\.[^"]+)"', text, re.MULTILINE)
        left += [(file.parent / path).resolve() for path in imports]
    return modules


def first_styles() -> list[str]:
    """The stylesheets that are loaded with the page."""
    index = (PAGE / "index.html").read_text("utf-8")
    return re.findall(r'<link rel="stylesheet" href="([^"]+)">', index)


def test_styles_that_come_later_are_of_no_class_that_the_first_view_shows() -> None:
    modules = without_a_view() - {PAGE / "parts" / "chart.js"}  # of other views alone
    ours = [file for file in modules if file.parent.name not in ("vendor", "locales")]
    shown = "\n".join(file.read_text("utf-8") for file in [*ours, PAGE / "index.html"])
    later = set((PAGE / "styles").iterdir()) - {PAGE / n for n in first_styles()} - {PRINTED}
    assert later
    for file in later:
        text = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
        for selectors in re.findall(r"([^{}]+)\{[^{}]*\}", text):
            for selector in selectors.split(","):
                names = re.findall(r"\.([a-z][\w-]*)", selector)
                assert names, selector
                known = [re.search(rf"(?<![\w-]){name}(?![\w-])", shown) for name in names]
                assert not all(known), selector.strip()


def test_what_the_first_view_loads_is_small() -> None:
    first = imported(*FIRST_VIEW, "locales/zh.js")
    first |= {
        PAGE / "index.html",
        PAGE / "early.js",
        PAGE / "icon.svg",
        *(PAGE / name for name in first_styles()),
    }
    assert sum(file.stat().st_size for file in first) < FIRST


def test_all_that_a_view_imports_is_fetched_at_once() -> None:
    """Without it, each file would be asked for once the one that imports it has come."""
    index = (PAGE / "index.html").read_text("utf-8")
    link = r'<link rel="modulepreload" href="([^"]+)">'
    head, later = (set(re.findall(link, part)) for part in index.split("<template"))
    first, thread = imported("app.js", "views/chat.js"), imported("views/chat/thread.js")
    assert head | {"app.js"} == {file.relative_to(PAGE).as_posix() for file in first}
    assert later == {file.relative_to(PAGE).as_posix() for file in thread - first}
