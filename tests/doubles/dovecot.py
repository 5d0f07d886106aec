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

DOVECOT = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
OPENSSL = shutil.which("openssl")

_CONFIGURATION = """
base_dir = {root}/run
state_dir = {root}/run
log_path = {root}/log
protocols = imap
listen = 127.0.0.1
mail_location = maildir:{root}/mail
passdb {{
  driver = static
  args = password={password}
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
default_login_user = {user}
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
        (place / "tmp" / name).write_bytes(raw)
        return (place / "tmp" / name).rename(place / "new" / name)

    def seen(self) -> int:
        """How many mails are marked as read."""
        return sum("S" in one.name.partition(":2,")[2] for one in self.mails())

    def mails(self) -> list[Path]:
        return list((self.root / "mail" / "cur").glob("*"))

    def client_tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.root / "cert.pem"))

    def server_tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.root / "cert.pem", self.root / "key.pem")
        return context

    def renumber(self) -> None:
        """Its memory of the folder's numbers is lost."""
        for file in (self.root / "mail").glob("dovecot*"):
            file.unlink()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _certify(root: Path) -> None:
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    subprocess.run(
        [str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=localhost", "-addext", names]
        + ["-keyout", str(root / "key.pem"), "-out", str(root / "cert.pem")],
        check=True,
        capture_output=True,
    )


@contextmanager
def dovecot() -> Iterator[Dovecot]:
    """A server for a while. Its sockets need a short path."""
    root = Path(tempfile.mkdtemp(prefix="nb-dovecot-"))
    port, tls_port = _free_ports(2)
    user = pwd.getpwuid(os.getuid())
    _certify(root)
    configuration = _CONFIGURATION.format(
        root=root,
        password=PASSWORD.replace(" ", "\\ "),
        uid=user.pw_uid,
        gid=user.pw_gid,
        user=user.pw_name,
        group=grp.getgrgid(user.pw_gid).gr_name,
        port=port,
        tls_port=tls_port,
    )
    (root / "dovecot.conf").write_text(configuration)
    process = subprocess.Popen(
        [str(DOVECOT), "-F", "-c", str(root / "dovecot.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _wait_for(port, process, root)
        yield Dovecot(root, port, tls_port)
    finally:
        process.terminate()
        process.communicate(timeout=20)
        shutil.rmtree(root, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], root: Path) -> None:
    for _ in range(500):
        if process.poll() is not None:
            assert process.stderr is not None
            said = process.stderr.read().decode()
            log = root / "log"
            raise AssertionError(said + (log.read_text() if log.exists() else ""))
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("dovecot does not listen")
