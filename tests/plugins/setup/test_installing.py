"""How nanobot gets onto a machine, and what it says of that."""

from __future__ import annotations

import os
import pty
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from nanobot import __version__
from nanobot.errors import NanobotError
from nanobot.plugins.setup.service.upgrade import run as upgrade
from nanobot.system import Installation

ROOT = Path(__file__).resolve().parents[3]


def installed(folder: Path, kind: str) -> Installation:
    """nanobot as it would be found after that kind of installation."""
    package = folder / "lib" / "nanobot"
    package.mkdir(parents=True)
    receipts = {"pipx": "pipx_metadata.json", "uv": "uv-receipt.toml"}
    if kind in receipts:
        (folder / receipts[kind]).write_text("")
    if kind == "checkout":
        (folder / "lib" / "Makefile").write_text("")
    return Installation(str(folder), package)


@pytest.mark.parametrize(
    ("kind", "adding", "upgrading"),
    [
        (
            "pipx",
            'pipx inject nanobot-gateway "nanobot-gateway[email]"',
            "pipx upgrade nanobot-gateway",
        ),
        (
            "uv",
            'uv tool install --force "nanobot-gateway[email]"',
            "uv tool upgrade nanobot-gateway",
        ),
        (
            "pip",
            'HERE/bin/python -m pip install "nanobot-gateway[email]"',
            "HERE/bin/python -m pip install --quiet --upgrade nanobot-gateway",
        ),
        (
            "checkout",
            'HERE/bin/python -m pip install -e "HERE/lib[email]"',
            "git -C HERE/lib pull --ff-only --no-stat\nmake -C HERE/lib install VENV=HERE",
        ),
    ],
)
def test_every_hint_names_what_is_right_for_how_it_was_installed(
    tmp_path: Path, kind: str, adding: str, upgrading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, kind)
    assert installation.kind == kind
    assert installation.adding("email") == adding.replace("HERE", str(tmp_path))
    assert upgrade({}, show=True, installation=installation) == 0
    assert capsys.readouterr().out == upgrading.replace("HERE", str(tmp_path)) + "\n"


def test_an_upgrade_whose_program_fails_says_which(tmp_path: Path) -> None:
    installation = installed(tmp_path, "pip")
    with pytest.raises(NanobotError, match="is not on PATH"):
        upgrade({}, show=False, installation=installation)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    with pytest.raises(
        NanobotError, match="install --quiet --upgrade nanobot-gateway ended with 7"
    ):
        upgrade({}, show=False, installation=installation)


PYTHON = """#!/bin/sh
[ "$1" = -m ] || echo VERSION
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$CALLS"
[ ! -e "$CALLS.broken" ] || { echo "Unit is masked" >&2; exit 1; }
"""


def made(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def test_an_upgrade_says_from_what_to_what_and_starts_the_service_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, "pip")
    made(tmp_path / "bin" / "python", PYTHON.replace("VERSION", "9.9.9"))
    made(tmp_path / "tools" / "systemctl", SYSTEMCTL)
    calls = tmp_path / "calls"
    environ = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/tools:/usr/bin:/bin"}
    environ |= {"CALLS": str(calls), "NANOBOT_HOME": str(tmp_path / "home")}
    assert upgrade(environ, show=False, installation=installation) == 0
    output = capsys.readouterr().out
    assert f"Upgraded from {__version__} to 9.9.9.\n" in output
    assert "still runs the old version" not in output
    assert not calls.exists()
    home = tmp_path / "home"
    home.mkdir()
    with socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind(str(home / "control.sock"))
        gateway.listen()
        assert upgrade(environ, show=False, installation=installation) == 0
    assert (
        f"The gateway of {home} still runs the old version. To restart it: nanobot restart --yes"
        in capsys.readouterr().out
    )
    unit = tmp_path / ".config" / "systemd" / "user" / "nanobot.service"
    made(unit, "[Service]")
    assert upgrade(environ, show=False, installation=installation) == 0
    assert f"Restarted the service: {unit}" in capsys.readouterr().out
    assert calls.read_text() == "--user restart nanobot.service\n"
    made(tmp_path / "calls.broken", "")
    assert upgrade(environ, show=False, installation=installation) == 0
    assert (
        "The service still runs the old version: systemctl restart nanobot.service: Unit is masked"
        in (capsys.readouterr().err)
    )


def test_an_upgrade_to_what_is_there_starts_nothing_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = installed(tmp_path, "pip")
    made(tmp_path / "bin" / "python", PYTHON.replace("VERSION", __version__))
    assert upgrade({}, show=False, installation=installation) == 0
    assert f"nanobot {__version__} is the newest version." in capsys.readouterr().out


GIT = """#!/bin/sh
case "$*" in *rev-parse*) cat "$HOME/commit";; *pull*) cp "$HOME/next" "$HOME/commit";; esac
"""


def test_an_upgrade_of_a_checkout_names_the_commits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is the same from commit to commit."""
    installation = installed(tmp_path, "checkout")
    made(tmp_path / "bin" / "python", PYTHON.replace("VERSION", __version__))
    made(tmp_path / "tools" / "git", GIT)
    made(tmp_path / "tools" / "make", "#!/bin/sh\n")
    (tmp_path / "commit").write_text("a1b2c3\n")
    (tmp_path / "next").write_text("d4e5f6\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    assert upgrade(environ, show=False, installation=installation) == 0
    expected = f"Upgraded from {__version__} (a1b2c3) to {__version__} (d4e5f6).\n"
    assert expected in capsys.readouterr().out
    assert upgrade(environ, show=False, installation=installation) == 0
    assert f"nanobot {__version__} (d4e5f6) is the newest version.\n" in capsys.readouterr().out


def linked(command: Path, home: Path, path: str) -> str:
    script = ROOT / "requirements" / "link.py"
    environ = {"HOME": str(home), "PATH": path}
    done = subprocess.run(
        [sys.executable, script, command], env=environ, capture_output=True, text=True, check=True
    )
    return done.stderr


def test_the_command_is_linked_where_path_has_a_place_for_it(tmp_path: Path) -> None:
    command, folder = tmp_path / "venv" / "nanobot", tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    path = f"/usr/bin{os.pathsep}{folder}"
    for _ in range(2):
        assert "Call it from anywhere: nanobot " in linked(command, tmp_path, path)
        assert (folder / "nanobot").readlink() == command
    assert f"anywhere: {command} " in linked(command, tmp_path, "/usr/bin")


def test_a_command_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "nanobot").write_text("another one")
    command = tmp_path / "venv" / "nanobot"
    assert f"anywhere: {command} " in linked(command, tmp_path, str(folder))
    assert (folder / "nanobot").read_text() == "another one"


def installing(
    pins: str, tmp_path: Path, path: str, *more: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Install these pins by the Makefile's program, run by this environment's Python under a
    folder of its own, where no uv is."""
    (tmp_path / "pins.txt").write_text(pins)
    own = tmp_path / "bin" / "python"
    own.parent.mkdir(exist_ok=True)
    if not own.exists():
        own.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        own.chmod(0o755)
    # As a program of that folder would see itself.
    script = ROOT / "requirements" / "install.py"
    code = f"import sys, runpy; sys.executable = {str(own)!r}; sys.argv = sys.argv[1:]; "
    code += f"runpy.run_path({str(script)!r}, run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", code, str(script), *more, "-r", str(tmp_path / "pins.txt")],
        env={"PATH": path, "HOME": str(tmp_path), "PIP_NO_INDEX": "1"} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_pip_says_is_shown_if_it_fails_and_its_code_is_kept(tmp_path: Path) -> None:
    """Neither uv is there, nor can it be fetched."""
    done = installing("no-such-package-of-anybody==1.0\n", tmp_path, "/usr/bin:/bin")
    assert done.returncode == 1
    assert "No matching distribution found for no-such-package-of-anybody" in done.stderr


UV = """#!/bin/sh
env > "$HOME/uv-environ"
echo "$@" > "$HOME/uv-arguments"
echo "error: it is broken" >&2
exit "${UV_CODE:-0}"
"""


def test_uv_installs_with_the_settings_of_pip(tmp_path: Path) -> None:
    made(tmp_path / "tools" / "uv", UV)
    (tmp_path / "wheels").mkdir()
    done = installing(
        "a==1\nb==2\n",
        tmp_path,
        f"{tmp_path}/tools:/usr/bin:/bin",
        "--require-hashes",
        PIP_INDEX_URL="file:///of/a/mirror",
        PIP_EXTRA_INDEX_URL="file:///missing/simple https://user:key@mirror.example/simple",
        PIP_FIND_LINKS=f"/no/such/folder {tmp_path}/wheels",
        PIP_TRUSTED_HOST="mirror.example",
        PIP_CERT="/etc/own.pem",
        PIP_DEFAULT_TIMEOUT="99",
    )
    assert done.returncode == 0, done.stderr
    assert "2 packages in " in done.stderr
    environ = dict(
        line.partition("=")[::2] for line in (tmp_path / "uv-environ").read_text().splitlines()
    )
    assert environ["UV_DEFAULT_INDEX"] == "file:///of/a/mirror"
    assert environ["UV_INDEX"] == "https://user:key@mirror.example/simple"
    assert environ["UV_FIND_LINKS"].strip(",") == f"{tmp_path}/wheels"
    assert environ["UV_NO_INDEX"] == "1"
    assert environ["UV_INSECURE_HOST"] == "mirror.example"
    assert environ["SSL_CERT_FILE"] == "/etc/own.pem"
    assert environ["UV_HTTP_TIMEOUT"] == "99"
    assert "--require-hashes" in (tmp_path / "uv-arguments").read_text()


def test_where_uv_fails_pip_installs(tmp_path: Path) -> None:
    made(tmp_path / "tools" / "uv", UV)
    done = installing(
        "no-such-package==1\n", tmp_path, f"{tmp_path}/tools:/usr/bin:/bin", UV_CODE="2"
    )
    assert "error: it is broken\n  uv could not install 1 package; pip tries it." in done.stderr
    assert "No matching distribution found for no-such-package" in done.stderr
    assert done.returncode == 1


def test_the_line_of_progress_moves_on_a_terminal(tmp_path: Path) -> None:
    """uv says nothing for a while, as when it fetches or unpacks something large."""
    made(
        tmp_path / "bin" / "uv", '#!/bin/sh\nhead -c 3000000 /dev/zero > "$HOME/x"\nexec sleep 2\n'
    )
    made(tmp_path / "bin" / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "pins.txt").write_text("a==1\n")
    code = f"import sys, runpy; sys.executable = {str(tmp_path / 'bin' / 'python')!r}; "
    code += f"runpy.run_path({str(ROOT / 'requirements' / 'install.py')!r}, run_name='__main__')"
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, "-r", str(tmp_path / "pins.txt")],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
        while piece := terminal.read(1_000):
            shown += piece
    assert process.wait() == 0
    lines = {line.strip() for line in shown.decode().split("\r")}
    assert {"1 package, 1 s", "1 package, 2 s"} <= {
        re.sub(r", \d+ MB written", "", each) for each in lines
    }
    assert any(line.startswith("1 package in ") for line in lines)


def test_the_version_is_said_without_loading_what_reads_commands() -> None:
    code = "import sys; from nanobot.cli import main; sys.argv[1:] = [sys.argv[1]]; main(); "
    code += "print(sorted({'typer', 'asyncio', 'msgspec', 'rich', 're'} & set(sys.modules)))"
    for asked in ("--version", "version"):
        command = [sys.executable, "-I", "-c", code, asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        version, loaded = done.stdout.splitlines()
        assert version == f"nanobot {__version__}"
        assert loaded == "[]"
