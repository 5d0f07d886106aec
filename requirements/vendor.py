"""Fetches what the page uses of others, as `vendor.toml` beside it says (`make vendor`; needs npm).

To renew a library, write its new version there and empty its `integrity`: this fills it in, with
the hash of every file. Without that, a package or a file that differs from its hash is an error.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import tomlkit

FOLDER = Path(__file__).resolve().parents[1] / "nanobot/plugins/page/files/vendor"
LIST = FOLDER / "vendor.toml"
_BESIDE = {
    "preact": "./preact.js",
    "preact/hooks": "./preact-hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
_IMPORT = re.compile(rf'(\bfrom|\bimport)\s*"({"|".join(_BESIDE)})"')
_MAP = re.compile(r"//# sourceMappingURL=\S*\s*$")


def _packed(name: str, version: str, into: Path) -> tuple[Path, str]:
    """The published package, and what the registry says its hash is."""
    command = ["npm", "pack", "--silent", "--json", f"{name}@{version}"]
    shown = subprocess.run(command, cwd=into, check=True, capture_output=True, text=True).stdout
    facts: dict[str, Any] = json.loads(shown)[0]
    return into / str(facts["filename"]).replace("@", "").replace("/", "-"), facts["integrity"]


def _as_module(text: str, append: str) -> str:
    """A file as the page loads it: no bare imports, no maps, an export where there was none."""
    text = _IMPORT.sub(lambda match: f'{match[1]}"{_BESIDE[match[2]]}"', _MAP.sub("", text))
    return f"{text.rstrip()}\n{append}\n" if append else f"{text.rstrip()}\n"


def _renew(library: Any, scratch: Path) -> None:
    name, version = str(library["name"]), str(library["version"])
    package, integrity = _packed(name, version, scratch)
    fresh = not library["integrity"]
    if not fresh and library["integrity"] != integrity:
        sys.exit(f"{name} {version}: the package is {integrity}, not {library['integrity']}")
    library["integrity"] = integrity
    append, hashes = library.get("append", {}), library.setdefault("sha256", tomlkit.table())
    with tarfile.open(package) as archive:
        for source, target in library["files"].items():
            member = archive.extractfile(f"package/{source}")
            if member is None:
                sys.exit(f"{name} {version} has no {source}")
            text = member.read().decode()
            content = (
                text
                if target.endswith((".LICENSE", ".css"))
                else _as_module(text, append.get(target, ""))
            ).encode()
            digest = hashlib.sha256(content).hexdigest()
            if not fresh and hashes.get(target) != digest:
                sys.exit(f"{target} would have the hash {digest}, not {hashes.get(target)}")
            hashes[target] = digest
            (FOLDER / target).write_bytes(content)
    sys.stdout.write(f"{name} {version}\n")


def main() -> None:
    """Fetch each library, and note what came."""
    document: Any = tomlkit.parse(LIST.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        for library in document["library"]:
            _renew(library, Path(scratch))
    LIST.write_text(tomlkit.dumps(document), "utf-8")


if __name__ == "__main__":
    main()
