"""The site of the documentation: it builds from a checkout, works offline and lacks no page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.http_api.operation_routes import path_of

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A broken link, or a page that no menu names, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_built_with_its_markdown(site: Path) -> None:
    for page in DOCS:
        name = page.relative_to(ROOT / "docs")
        html = (site / name.with_suffix(".html")).read_text("utf-8")
        assert "data-copy-markdown" in html
        assert (site / name).read_text("utf-8").startswith("# ")
        (embedded,) = re.findall(r'id="page-markdown">(.*?)</script>', html, re.DOTALL)
        assert json.loads(embedded) == (site / name).read_text("utf-8")


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(https?:[^\s\">]*)")
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text("utf-8")) == [], page.name


def test_search_knows_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in DOCS} <= found
    assert (site / "search" / "search_index.js").exists()  # search in files, without a server


def test_llms_txt_lists_each_page_with_a_sentence(site: Path) -> None:
    text = (site / "llms.txt").read_text("utf-8")
    listed = dict(re.findall(r"^- \[.+?\]\((.+?\.md)\): (.+)$", text, re.MULTILINE))
    assert {str(page.relative_to(ROOT / "docs")) for page in DOCS} <= set(listed)
    assert all((site / page).exists() for page in listed)
    everything = (site / "llms-full.txt").read_text("utf-8")
    assert all((site / page).read_text("utf-8") in everything for page in listed)


def test_references_are_made_from_the_code(site: Path) -> None:
    http = (site / "reference" / "http.md").read_text("utf-8")
    for operation in [*OPERATIONS, *plugin_operations()]:
        if operation.listed:
            method = "GET" if operation.reads else "POST"
            assert f"### `{method} {path_of(operation)}`" in http
    described = json.loads((site / "openapi.json").read_text("utf-8"))
    types = (site / "reference" / "http-types.md").read_text("utf-8")
    assert all(f"\n## {name}\n" in types for name in described["components"]["schemas"])
    assert "ConfigFile" in (site / "config.schema.json").read_text("utf-8")
