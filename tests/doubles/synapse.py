"""A real Synapse on loopback, for those who have one: `make servers` installs it, or
NANOBOT_TEST_SYNAPSE names its Python.

with Synapse(folder) as synapse:
    ... synapse.root_url, and the users `nano` and `ann` with synapse.password ...
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

_PATIENCE = 60.0
_RATE = "{per_second: 10000, burst_count: 10000}"


def installed() -> str:
    """A Python that has Synapse, "" if there is none."""
    named = os.environ.get("NANOBOT_TEST_SYNAPSE", "")
    if named:
        return named
    beside = Path(f"{sys.prefix}-synapse", "bin", "synapse_homeserver")
    program = shutil.which("synapse_homeserver") or shutil.which(beside)
    return str(Path(program).with_name("python")) if program else ""


class Synapse:
    """One homeserver called `loopback`, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.password = "long enough"  # opens a server on loopback
        self._folder = folder
        self._python = installed()
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "log.yaml").write_text("version: 1\nroot: {level: ERROR}\n")
        (self._folder / "homeserver.yaml").write_text(self._config())
        self._run("synapse.app.homeserver", "-c", "homeserver.yaml", "--generate-keys")
        self.start()
        for user in ("nano", "ann", "bob"):
            self._register(user)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [self._python, "-m", "synapse.app.homeserver", "-c", "homeserver.yaml"]
        self._process = subprocess.Popen(command, cwd=self._folder)
        limit = time.monotonic() + _PATIENCE
        while True:
            try:
                with urlopen(f"{self.root_url}/_matrix/client/versions", timeout=5):
                    return
            except (URLError, OSError):
                if self._process.poll() is not None or time.monotonic() > limit:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        """End it; what it was told stays."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _register(self, user: str) -> None:
        arguments = ("-u", user, "-p", self.password, "--no-admin", "-k", "loopback", self.root_url)
        self._run("synapse._scripts.register_new_matrix_user", *arguments)

    def _run(self, module: str, *arguments: str) -> None:
        command = [self._python, "-m", module, *arguments]
        subprocess.run(command, cwd=self._folder, check=True, capture_output=True)

    def _config(self) -> str:
        return f"""
server_name: loopback
pid_file: synapse.pid
listeners:
  - {{port: {self.port}, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client]}}]}}
database: {{name: sqlite3, args: {{database: synapse.db}}}}
log_config: log.yaml
media_store_path: media
signing_key_path: signing.key
registration_shared_secret: loopback
macaroon_secret_key: loopback
form_secret: loopback
report_stats: false
suppress_key_server_warning: true
trusted_key_servers: []
max_upload_size: 100K
enable_authenticated_media: true
rc_message: {_RATE}
rc_joins: {{local: {_RATE}, remote: {_RATE}}}
rc_invites: {{per_room: {_RATE}, per_user: {_RATE}, per_issuer: {_RATE}}}
rc_room_creation: {_RATE}
rc_login: {{address: {_RATE}, account: {_RATE}, failed_attempts: {_RATE}}}
"""
