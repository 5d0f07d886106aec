"""The workspace and the shipped files it is made from."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nanobot.errors import ConfigError, NanobotError
from nanobot.workspace import assets
from nanobot.workspace import folder as workspace


def test_a_new_workspace_holds_the_template(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there" / "workspace"
    workspace.prepare(home)
    assert sorted(f.name for f in home.iterdir()) == [
        "AGENTS.md",
        "BOOT.md.example",
        "HEARTBEAT.md.example",
        "SHUTDOWN.md.example",
        "SOUL.md",
        "TOOLS.md",
        "USER.md",
    ]
    assert (home / "SOUL.md").read_text() == (assets.workspace_template() / "SOUL.md").read_text()
    assert [f.name for f in home.parent.iterdir()] == ["workspace"]


def test_what_people_wrote_or_removed_stays_so(tmp_path: Path) -> None:
    workspace.prepare(tmp_path / "w")
    (tmp_path / "w" / "SOUL.md").write_text("mine")
    (tmp_path / "w" / "USER.md").unlink()
    workspace.prepare(tmp_path / "w")
    assert (tmp_path / "w" / "SOUL.md").read_text() == "mine"
    assert not (tmp_path / "w" / "USER.md").exists()


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    workspace.prepare(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_is_a_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("a file")
    with pytest.raises(ConfigError, match=r"w is not a folder\. Move it away"):
        workspace.prepare(tmp_path / "w")


def test_a_workspace_below_a_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a file")
    with pytest.raises(ConfigError, match="Set `workspace` to a folder"):
        workspace.prepare(tmp_path / "f" / "w")


def test_a_dangling_link_is_not_followed_into_the_dark(tmp_path: Path) -> None:
    (tmp_path / "w").symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigError, match="is not a folder"):
        workspace.prepare(tmp_path / "w")


def test_a_crash_half_way_leaves_no_half_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.name == "SOUL.md":
            raise OSError(28, "No space left on device")
        return real(self, data)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(ConfigError, match="No space left"):
            workspace.prepare(tmp_path / "w")
    assert not (tmp_path / "w").exists()
    workspace.prepare(tmp_path / "w")
    assert (tmp_path / "w" / "USER.md").exists()


def test_the_checkout_ships_skills_and_template() -> None:
    assert (assets.skills() / "README.md").is_file()
    assert (assets.workspace_template() / "AGENTS.md").is_file()


def test_a_wheel_keeps_them_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "nanobot"
    (package / "_assets" / "skills").mkdir(parents=True)
    # Another distribution's folder of the same name must not be taken for ours.
    (package.parent / "skills").mkdir()
    assert assets.folder("skills", package) == package / "_assets" / "skills"
    with pytest.raises(NanobotError, match=r"without its folder workspace_template/"):
        assets.folder("workspace_template", package)


def test_two_that_start_at_once_make_one_workspace(tmp_path: Path) -> None:
    """Whoever comes second finds it made, and leaves nothing beside it."""
    path = tmp_path / "workspace"
    with ThreadPoolExecutor(4) as starting:
        for _ in range(20):
            list(starting.map(lambda _: workspace.prepare(path), range(4)))
            assert [entry.name for entry in tmp_path.iterdir()] == ["workspace"]
            shutil.rmtree(path)
