"""Skills: instructions for one kind of work, each a folder with a `SKILL.md`.

Skills are shipped with nanobot or added to the workspace; a workspace skill replaces a shipped one
of the same name. Errors in a skill are reported and never stop anything.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, ToolError, UnknownId, UsageError
from nanobot.plugins.skills.frontmatter import FrontMatterError, FrontMatterField, split
from nanobot.text import WORDS, Sentence, pattern
from nanobot.workspace import assets
from nanobot.workspace.folder import read

MAX_BODY = 40_000
"""Maximum characters of a SKILL.md."""
MAX_FILES = 200
MAX_BYTES = 5_000_000
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are searched for, the same as for the model's commands."""

_NAME = pattern(r"[a-z0-9][a-z0-9_-]{0,63}")
_DESCRIPTION = 1_024
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


Source: TypeAlias = Literal["bundled", "workspace"]


class Needs(msgspec.Struct, frozen=True):
    """What a skill requires: programs, variables, and one of these systems."""

    bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    os: tuple[str, ...] = ()


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One skill. A `disabled` skill is not shown to the model."""

    name: str
    description: str = ""
    source: Source
    always: bool = False
    body: str = ""
    path: str
    files: tuple[str, ...] = ()
    """The other files of its folder."""
    needs: Needs = Needs()
    lacking: tuple[Sentence, ...] = ()
    """Those of its `needs` that this machine does not meet."""
    wrong: Sentence = ""
    """Why the skill cannot be read at all."""
    disabled: bool = False

    @property
    def state(self) -> str:
        """disabled, ready, lacking or broken."""
        if self.disabled:
            return "disabled"
        return "broken" if self.wrong else "lacking" if self.lacking else "ready"


class SkillView(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as listed for people."""

    SHOWN: ClassVar[tuple[str, ...]] = ("name", "state", "description", "why", "always", "source")

    name: str
    state: Annotated[str, Meta(extra={WORDS: ("disabled", "ready", "lacking", "broken")})]
    source: str
    """bundled or workspace."""
    always: bool
    description: str
    why: Sentence
    """The missing requirement, the error, or that a change waits for the next start."""
    path: str
    files: tuple[str, ...]
    text: str = ""
    """Its page, if a single skill is shown."""


class Skills:
    """The skills of a workspace, read again at every call, because files may change at any time.
    Skills whose names are in `disabled` are not shown to the model. `changes` counts the changes
    made here.
    """

    def __init__(
        self,
        workspace: Path,
        environ: Mapping[str, str] | None = None,
        disabled: Collection[str] = (),
    ) -> None:
        self._workspace = workspace
        self._environ = environ or {}
        self.disabled = set(disabled)
        self.changes = 0

    @property
    def folder(self) -> Path:
        """The workspace's skill folder."""
        return self._workspace / "skills"

    def all(self) -> list[Skill]:
        by_name: dict[str, Skill] = {}
        for source, root in self.roots():
            for folder in _folders(root):
                by_name[folder.name] = self._read(folder, source)
        return list(self.checked(by_name[name] for name in sorted(by_name)))

    def roots(self) -> tuple[tuple[Source, Path], ...]:
        """The folders of skills; those of a later one replace others of their names."""
        return (("bundled", assets.skills()), ("workspace", self.folder))

    def hide(self, names: Collection[str]) -> None:
        """From now on, hide these skills from the model, and only these."""
        self.disabled = set(names)
        self.changed()

    def changed(self) -> None:
        """Files may have changed: the next prompt shows them as they are now."""
        self.changes += 1

    def shown(self) -> list[Skill]:
        """The skills that the model may see."""
        return [skill for skill in self.all() if not skill.disabled]

    def named(self, name: str) -> Skill:
        """The skill with that name. Raises NanobotError, listing the existing skills."""
        if _NAME.fullmatch(name):
            for source, root in reversed(self.roots()):
                if os.path.lexists(root / name / "SKILL.md"):
                    return next(self.checked([self._read(root / name, source)]))
        every = self.all()
        for skill in every:
            if skill.name == name:
                return skill
        skill_names = ", ".join(skill.name for skill in every) or "none"
        raise UnknownId(f"there is no skill {name[:64]!r}; there are {skill_names}")

    def view(self, skill: Skill, *, page: bool = False) -> SkillView:
        return SkillView(
            name=skill.name,
            state=skill.state,
            source=skill.source,
            always=skill.always,
            description=skill.description,
            why=skill.wrong or "; ".join(skill.lacking),
            path=skill.path,
            files=skill.files,
            text=skill.body if page else "",
        )

    def file(self, skill: Skill, name: str) -> str:
        """The text of another file of a skill. Raises ToolError if the file is not listed."""
        if name not in skill.files:
            file_names = ", ".join(skill.files) or "only its page"
            raise ToolError(
                f"the skill {skill.name} has no file {name[:100]!r}; it has {file_names}"
            )
        return read(self._root(skill.source), f"skills/{skill.name}/{name}", MAX_BODY)

    def add(self, path: str, *, replace: bool) -> Skill:
        """Copy a skill's folder (or one SKILL.md) into the workspace, atomically. Raises UsageError
        if it is not a skill, or if the skill exists and is not to be replaced.
        """
        source = Path(path).expanduser()
        if not source.is_absolute():
            raise UsageError(f"{path}: write the whole path of the folder")
        folder = source.parent if source.name == "SKILL.md" else source
        only = source.name == "SKILL.md"
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder. Unpack the skill on this machine first")
        if not (folder / "SKILL.md").is_file():
            raise UsageError(f"{folder} has no SKILL.md: that is what makes a folder a skill")
        files = [folder / "SKILL.md"] if only else _copied(folder)
        target = self.folder / folder.name
        bare = Skill(name=folder.name, source="workspace", path=str(folder / "SKILL.md"))
        try:
            self._parsed(bare, folder, "SKILL.md")
        except (FrontMatterError, OSError) as error:
            raise UsageError(f"{bare.path}: {error}") from error
        if target.exists() and not replace:
            raise UsageError(f"{target} already exists; add replace to overwrite it")
        if target.exists() and target.resolve() == folder.resolve():
            raise UsageError(f"{folder} is that skill itself")
        try:
            _place(files, folder, target)
        except OSError as error:
            raise NanobotError(f"{target} cannot be written: {error.strerror}") from error
        self.changed()
        return next(self.checked([self._read(target, "workspace")]))

    def _root(self, source: str) -> Path:
        return assets.skills().parent if source == "bundled" else self._workspace

    def _read(self, folder: Path, source: Source) -> Skill:
        """Read a skill from its folder, including its errors."""
        skill = self.page(folder, source)
        return skill if skill.wrong else msgspec.structs.replace(skill, files=_others(folder))

    def page(self, folder: Path, source: Source) -> Skill:
        """A skill as its page says, unchecked and without the other files of its folder."""
        root, path = self._root(source), f"skills/{folder.name}/SKILL.md"
        bare = Skill(name=folder.name, source=source, path=path)
        try:
            return self._parsed(bare, root, path)
        except FrontMatterError as error:
            return msgspec.structs.replace(bare, wrong=str(error))
        except OSError as error:
            link = (folder / "SKILL.md").is_symlink() or folder.is_symlink()
            why = "links are not followed here" if link else error.strerror or str(error)
            return msgspec.structs.replace(bare, wrong=why)

    def _parsed(self, bare: Skill, root: Path, path: str) -> Skill:
        text = read(root, path, MAX_BODY + 1)
        if len(text) > MAX_BODY:
            raise FrontMatterError(
                f"it is longer than {MAX_BODY:,} characters; put the rest into other files of "
                f"the folder"
            )
        fields, body = split(text)
        return self._skill(bare, fields, body)

    def _skill(self, bare: Skill, fields: Mapping[str, FrontMatterField], body: str) -> Skill:
        name = _required(fields, "name").text()
        if not _NAME.fullmatch(name) or name != bare.name:
            raise _required(fields, "name").wrong(
                f"the folder's name ({bare.name}): small letters, digits, - and _, at most 64"
            )
        about = _required(fields, "description")
        description = " ".join(about.text().split())
        if not 0 < len(description) <= _DESCRIPTION:
            raise about.wrong(f"a sentence of at most {_DESCRIPTION:,} characters")
        if not body:
            raise FrontMatterError("there is nothing behind the front matter")
        always = "always" in fields and fields["always"].flag()
        needs = fields["requires"].table() if "requires" in fields else {}
        return msgspec.structs.replace(
            bare,
            description=description,
            always=always,
            body=body,
            needs=_needs(needs),
        )

    def checked(self, skills: Iterable[Skill]) -> Iterator[Skill]:
        """These skills, with what this machine lacks for each, and whether it is disabled."""
        found: dict[str, bool] = {}
        for skill in skills:
            lacking = self._lacking(skill.needs, found)
            disabled = skill.name in self.disabled
            differs = lacking or disabled
            yield (
                msgspec.structs.replace(skill, lacking=lacking, disabled=disabled)
                if differs
                else skill
            )

    def _lacking(self, needs: Needs, found: dict[str, bool]) -> tuple[str, ...]:
        """`found`: the programs that were searched for, each with whether it is there."""
        for need in needs.bins:
            if need not in found:
                found[need] = shutil.which(need, path=SEARCH_PATH) is not None
        here = _SYSTEMS.get(sys.platform, sys.platform)
        lacking = [f"the program {need}" for need in needs.bins if not found[need]]
        lacking += [f"the variable {need}" for need in needs.env if not self._environ.get(need)]
        if needs.os and here not in {need.lower() for need in needs.os}:
            lacking.append(f"one of these systems: {', '.join(needs.os)}")
        return tuple(lacking)


def _needs(fields: Mapping[str, FrontMatterField]) -> Needs:
    unknown = [need for key, need in fields.items() if key not in ("bins", "env", "os")]
    if unknown:
        raise FrontMatterError(
            f"line {unknown[0].line}: requires.{unknown[0].key} is not known; "
            "there are bins, env and os"
        )
    return Needs(*(fields[key].listed() if key in fields else () for key in ("bins", "env", "os")))


def _required(fields: Mapping[str, FrontMatterField], key: str) -> FrontMatterField:
    if key not in fields:
        raise FrontMatterError(f"the front matter has no {key}")
    return fields[key]


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(folder for folder in root.iterdir() if os.path.lexists(folder / "SKILL.md"))
    except OSError:
        return []


def _others(folder: Path) -> tuple[str, ...]:
    """The other files of a skill, as paths within it; links are skipped."""
    return tuple(
        file.relative_to(folder).as_posix()
        for file in _regular(folder)
        if file != folder / "SKILL.md"
    )[:MAX_FILES]


def _regular(folder: Path) -> list[Path]:
    files = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        files += [Path(at, name) for name in sorted(names)]
    return [file for file in files if stat.S_ISREG(file.lstat().st_mode)]


def _copied(folder: Path) -> list[Path]:
    files = _regular(folder)
    size = sum(file.stat().st_size for file in files)
    if len(files) > MAX_FILES or size > MAX_BYTES:
        raise UsageError(
            f"{folder} has {len(files):,} files of {size:,} bytes; a skill has at most "
            f"{MAX_FILES} of {MAX_BYTES:,}"
        )
    return files


def _place(files: list[Path], folder: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".adding.", dir=target.parent) as staging:
        new = Path(staging, "new")
        for file in files:
            to = new / file.relative_to(folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
            to.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
        if target.exists():
            target.rename(Path(staging, "old"))
        new.rename(target)
