"""A real IMAP server on loopback: Dovecot, with a configuration and a maildir of its own."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.doubles.mail_server import PASSWORD, USER


def _found() -> str | None:
    """The program, if it is of the version whose configuration this is; 2.4 wants another one."""
    path = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        return None
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return path if result.stdout.startswith("2.3.") else None


DOVECOT = _found()
OPENSSL = shutil.which("openssl")

_CONFIGURATION = """
base_dir = {root}/run
state_dir = {root}/run
log_path = {root}/log
protocols = imap
listen = 127.0.0.1
mail_location = maildir:{root}/mail
passdb {{
  driver = passwd-file
  args = scheme=plain {root}/people
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={root}
}}
first_valid_uid = {uid}
first_valid_gid = {gid}
disable_plaintext_auth = no
ssl = yes
ssl_cert = <{root}/cert.pem
ssl_key = <{root}/key.pem
default_internal_user = {user}
default_login_user = {login}
default_internal_group = {group}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
service anvil {{
  chroot =
}}
namespace inbox {{
  inbox = yes
  mailbox Sent {{
    auto = create
  }}
}}
"""


class Dovecot:
    """A server that runs. Mails are put into its folders as any delivery agent would."""

    def __init__(self, root: Path, port: int, tls_port: int) -> None:
        self.root = root
        self.port = port
        self.tls_port = tls_port
        self._count = 0

    def _give(self, path: Path) -> None:
        """Make the server's user the owner."""
        owner = self.root.stat()
        os.chown(path, owner.st_uid, owner.st_gid)

    @property
    def settings(self) -> dict[str, object]:
        return {"imap_host": "127.0.0.1", "imap_port": self.port, "user": USER}

    def deliver(self, raw: bytes, folder: str = "") -> Path:
        """A mail comes."""
        self._count += 1
        name = f"{int(time.time())}.{self._count}.loopback"
        place = self.root / "mail" / folder
        for sub in ("tmp", "new", "cur"):
            (place / sub).mkdir(parents=True, exist_ok=True)
            for folder_path in (self.root / "mail", place, place / sub):
                self._give(folder_path)
        (place / "tmp" / name).write_bytes(raw)
        self._give(place / "tmp" / name)
        return (place / "tmp" / name).rename(place / "new" / name)

    def keep_copy(self, raw: bytes) -> None:
        """As a provider does with what is sent."""
        self.deliver(raw, ".Sent")

    def read_count(self) -> int:
        """How many mails are marked as read."""
        return sum("S" in mail.name.partition(":2,")[2] for mail in self.mails())

    def mails(self) -> list[Path]:
        return list((self.root / "mail" / "cur").glob("*"))

    def client_tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.root / "cert.pem"))

    def server_tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.root / "cert.pem", self.root / "key.pem")
        return context

    def renumber(self) -> None:
        """Drop its record of the folder's UIDs, as after a restore from a backup."""
        numbers = self.root / "mail" / "dovecot-uidlist"
        validity = int(numbers.read_text().split()[1].removeprefix("V"))
        for file in (self.root / "mail").glob("dovecot*"):
            file.unlink()
        numbers.write_text(f"3 V{validity + 10} N100\n")
        self._give(numbers)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def _certify(root: Path) -> None:
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    subprocess.run(
        f"{OPENSSL} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        f"-addext {names} -keyout {root}/key.pem -out {root}/cert.pem".split(),
        check=True,
        capture_output=True,
    )


@contextmanager
def dovecot() -> Iterator[Dovecot]:
    """A server for a while. Its sockets need a short path."""
    root = Path(tempfile.mkdtemp(prefix="nb-dovecot-"))
    port, tls_port = _free_ports(2)
    # As root it changes to users of its own, as anybody else it stays what it is.
    is_root = os.getuid() == 0
    user = pwd.getpwnam("dovecot") if is_root else pwd.getpwuid(os.getuid())
    root.chmod(0o755)
    os.chown(root, user.pw_uid, user.pw_gid)
    _certify(root)
    configuration = _CONFIGURATION.format(
        root=root,
        uid=user.pw_uid,
        gid=user.pw_gid,
        user=user.pw_name,
        login="dovenull" if is_root else user.pw_name,
        group=grp.getgrgid(user.pw_gid).gr_name,
        port=port,
        tls_port=tls_port,
    )
    (root / "dovecot.conf").write_text(configuration)
    (root / "people").write_text(f"{USER}:{PASSWORD}::::::\n")
    with (root / "said").open("wb") as output:
        process = subprocess.Popen(
            [str(DOVECOT), "-F", "-c", str(root / "dovecot.conf")], stdout=output, stderr=output
        )
    try:
        _wait_for(port, process, root)
        yield Dovecot(root, port, tls_port)
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(root, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], root: Path) -> None:
    for _ in range(500):
        if process.poll() is not None:
            logs = [(root / name) for name in ("said", "log")]
            raise AssertionError("".join(log.read_text() for log in logs if log.exists()))
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("dovecot does not listen")
