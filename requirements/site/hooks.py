"""Hooks of MkDocs: pages outside of docs/, references, Markdown of each page, llms.txt.

Files of the repository in `PAGES` become pages of the site, their links rewritten. Every page is
published as Markdown, too (`x.md` beside `x.html`), and embedded for "Copy as Markdown".
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from nanobot import __version__
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.configuration.schema import schema
from nanobot.plugins.http_api.descriptions import SERVED_WITH_OTHERS
from nanobot.plugins.http_api.openapi import description
from nanobot.plugins.openai.descriptions import DESCRIPTIONS as OPENAI
from nanobot.plugins.page.descriptions import DESCRIPTIONS as PAGE

sys.path.insert(0, str(Path(__file__).parent))
import links
import references

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).parent / "assets"
# Files of the repository, and the pages that they become.
PAGES = {
    "README.md": "index.md",
    "README.zh.md": "zh/index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "channels/README.md": "writing-a-channel.md",
    "examples/README.md": "examples.md",
}
# A folder stands for its first page.
FOLDERS = {"docs/adr": "adr/0001-channels-packaging.md", "docs": "index.md"}
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

_document: dict[str, Any] = {}
_published: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files of docs/, and what the pages load."""
    _document.clear()
    operations = [*OPERATIONS, *plugin_operations()]
    _document.update(
        description(
            operations, __version__, cookie="nanobot", also=[*SERVED_WITH_OTHERS, *OPENAI, *PAGE]
        )
    )
    _published.clear()
    pages = {source: (ROOT / source).read_text("utf-8") for source in PAGES}
    for source, text in pages.items():
        files.append(File.generated(config, PAGES[source], content=text))
    generated = {
        "reference/http.md": references.http_page(_document),
        "reference/http-types.md": references.types_page(_document),
    }
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    written = {
        "openapi.json": json.dumps(_document, indent=1),
        "config.schema.json": json.dumps(schema(), indent=1),
        **{f"assets/{each.name}": each.read_text("utf-8") for each in sorted(ASSETS.iterdir())},
    }
    for name, text in written.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, files: Any, **_: Any) -> str:
    """Rewrite links, and keep the text for `x.md`."""
    name = page.file.src_uri
    source = {site: repository for repository, site in PAGES.items()}.get(name, f"docs/{name}")
    known = {f"docs/{each.src_uri}": each.src_uri for each in files} | FOLDERS | PAGES
    text = links.rewritten(markdown, source, name, known)
    _published[name] = text
    return text


def on_page_context(context: Any, page: Any, **_: Any) -> Any:
    """Embed the page's Markdown. `</` would end the script that holds it."""
    context["page_markdown"] = json.dumps(_published[page.file.src_uri]).replace("</", "<\\/")
    return context


def on_post_build(config: Any) -> None:
    """Write each page as Markdown, and the lists of pages for models."""
    site = Path(config["site_dir"])
    for name, text in _published.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, "utf-8")
    listed = [f"- [{_title(text)}]({name}): {_sentence(text)}" for name, text in _published.items()]
    heading = f"# {config['site_name']}\n\n> {config['site_description']}\n\n## Pages\n\n"
    (site / "llms.txt").write_text(heading + "\n".join(listed) + "\n", "utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(_published.values()), "utf-8")


def _title(text: str) -> str:
    found = _TITLE.search(text)
    return found[1].replace("`", "") if found else "nanobot"


def _sentence(text: str) -> str:
    """The first sentence of prose, without the marks of Markdown."""
    for paragraph in text.split("\n\n"):
        first = paragraph.strip()
        if first and not re.match(r"[#|>`!\[<]|    ", paragraph) and len(first) > 20:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
            plain = plain.replace("**", "").replace("`", "")
            return re.split(r"(?<=[.:。])\s|(?<=。)", plain, maxsplit=1)[0].rstrip(":") or plain
    return _title(text)
