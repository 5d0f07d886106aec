"""Control groups: on the kernel's own where this machine lends them, else on a folder that has the
same files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.plugins.shell.sandbox.control_group import (
    LEAF,
    ControlGroups,
    NoControlGroups,
    find_control_groups,
)
from nanobot.plugins.shell.sandbox.view import SandboxLimits

LIMITS = SandboxLimits(processes=20, memory_kib=64 * 1024)
MOUNT = "30 23 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


class Tree:
    """A folder with the files of cgroup2, and a /proc that tells of it. Nothing in it counts."""

    def __init__(self, folder: Path) -> None:
        self.mount, self.proc = folder / "cgroup", folder / "proc"
        (self.proc / "self").mkdir(parents=True)
        self.group("")

    def group(self, name: str, *, processes: str = "", enabled: str = "") -> Path:
        folder = self.mount / name
        folder.mkdir(parents=True)
        (folder / "cgroup.controllers").write_text("cpu io memory pids\n")
        (folder / "cgroup.subtree_control").write_text(f"{enabled}\n")
        (folder / "cgroup.procs").write_text(processes)
        if name:
            (folder / "cgroup.type").write_text("domain\n")
        return folder

    def tell(self, own: str, root: str = "/") -> None:
        (self.proc / "self" / "mountinfo").write_text(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + MOUNT.format(root=root, mount=self.mount)
        )
        (self.proc / "self" / "cgroup").write_text(f"1:name=systemd:/\n0::{own}\n")

    def process(self, number: int, parent: int) -> None:
        (self.proc / str(number)).mkdir()
        (self.proc / str(number) / "stat").write_text(f"{number} (a) b) S {parent} 1 1")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_group_that_systemd_delegated_with_a_leaf_is_used_as_it_is(tree: Tree) -> None:
    service = tree.group("system.slice/nanobot.service", enabled="memory pids")
    tree.group(f"system.slice/nanobot.service/{LEAF}", processes=f"{os.getpid()}\n")
    tree.tell(f"/system.slice/nanobot.service/{LEAF}")
    assert find_control_groups(tree.proc, 1000).base == service


def test_in_a_delegated_group_without_a_leaf_the_gateway_moves_into_one(
    tree: Tree,
) -> None:
    child = 4_000_001
    tree.process(child, os.getpid())
    service = tree.group("nanobot.service", processes=f"{os.getpid()}\n{child}\n")
    tree.tell("/nanobot.service")
    assert find_control_groups(tree.proc, 1000).base == service
    assert (service / LEAF / "cgroup.procs").read_text() == str(child)
    assert (service / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_with_processes_of_others_is_left_alone(
    tree: Tree,
) -> None:
    tree.process(4_000_001, 1)
    scope = tree.group("session.scope", processes=f"{os.getpid()}\n4000001\n")
    tree.tell("/session.scope")
    with pytest.raises(NoControlGroups, match="processes of others"):
        find_control_groups(tree.proc, 1000)
    assert not (scope / LEAF).exists()


def test_root_takes_the_top_where_its_own_group_is_not_its_own(
    tree: Tree,
) -> None:
    tree.process(4_000_001, 1)
    tree.group("session.scope", processes=f"{os.getpid()}\n4000001\n")
    tree.tell("/session.scope")
    assert find_control_groups(tree.proc, 0).base == tree.mount


def test_a_container_sees_its_own_part_of_the_hierarchy(
    tree: Tree,
) -> None:
    tree.group("inner", processes=f"{os.getpid()}\n")
    tree.tell("/docker/abc/inner", root="/docker/abc")
    assert find_control_groups(tree.proc, 1000).base == tree.mount / "inner"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda tree: (tree.mount / "cgroup.controllers").write_text("hugetlb"), "memory, pids"),
        (lambda tree: (tree.mount / "cgroup.controllers").write_text("memory"), "count pids"),
        (lambda tree: (tree.proc / "self" / "mountinfo").write_text("\n"), "no control groups"),
        (
            lambda tree: (tree.proc / "self" / "cgroup").write_text("4:pids:/\n"),
            "of version 2",
        ),
        (lambda tree: (tree.proc / "self" / "cgroup").unlink(), "No such file"),
        (lambda tree: (tree.mount / "cgroup.subtree_control").unlink(), "not delegated"),
    ],
)
def test_why_there_are_none_is_told(tree: Tree, change: object, why: str) -> None:
    tree.tell("/")
    assert callable(change)
    change(tree)
    with pytest.raises(NoControlGroups, match=why):
        find_control_groups(tree.proc)


def test_a_program_gets_a_group_with_both_limits_that_it_enters_itself(tree: Tree) -> None:
    groups = ControlGroups(tree.mount)
    with groups.joined(["/bin/echo", "it runs"], LIMITS) as words:
        (folder,) = tree.mount.glob("nanobot-*")
        assert (folder / "pids.max").read_text() == "20"
        assert (folder / "memory.max").read_text() == str(64 * 1024 * 1024)
        ended = subprocess.run(words, capture_output=True, text=True, check=True)
        assert ended.stdout == "it runs\n"
        assert (folder / "cgroup.procs").read_text() == "0\n"
    assert (folder / "cgroup.kill").read_text() == "1"


def test_a_program_that_cannot_enter_its_group_does_not_start(tree: Tree) -> None:
    with ControlGroups(tree.mount).joined(["/bin/echo", "it runs"], LIMITS) as words:
        (folder,) = tree.mount.glob("nanobot-*")
        (folder / "cgroup.procs").mkdir()
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert ended.stdout == ""


def test_what_a_killed_gateway_left_is_ended_and_removed(tree: Tree) -> None:
    gone = tree.mount / "nanobot-4000001-7"
    own = tree.mount / f"nanobot-{os.getpid()}-7"
    other = tree.mount / "somebody-else"
    for folder in (gone, own, other):
        folder.mkdir()
    ControlGroups(tree.mount)
    assert {path.name for path in tree.mount.iterdir() if path.is_dir()} >= {own.name, other.name}
    assert not own.joinpath("cgroup.kill").exists()
    assert (gone / "cgroup.kill").exists()  # in the kernel's own, an empty group is removed


REAL = r"""
import sys
from nanobot.plugins.shell.sandbox.control_group import ControlGroups, find_control_groups
from nanobot.plugins.shell.sandbox.view import SandboxLimits
import subprocess, time
groups = find_control_groups()
limits = SandboxLimits(processes=20, memory_kib=64 * 1024)
def run(program):
    with groups.joined([sys.executable, "-c", program], limits) as words:
        ended = subprocess.run(words, capture_output=True, text=True)
    return ended.stdout.strip(), ended.returncode
forks = '''
import os, signal
children = []
try:
    while len(children) < 100:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.closerange(0, 3)
            signal.pause()
        children.append(pid)
except OSError as error:
    print(error.errno, len(children), flush=True)
'''
told, _ = run(forks)
assert told == "11 19", told
told, code = run("print(len(bytearray(40_000_000)))")
assert told == "40000000", (told, code)
_, code = run("print(len(bytearray(400_000_000)))")
assert code != 0, code
for _ in range(200):
    with groups.joined(["true"], limits):
        pass
    left = [path for path in groups.base.glob("nanobot-*")]
    if not left:
        break
    time.sleep(0.05)
assert left == [], left
print("limited", groups.base)
"""


def test_the_kernel_holds_root_to_the_limits_of_its_group(tmp_path: Path) -> None:
    try:
        find_control_groups()
    except NoControlGroups as error:
        pytest.skip(f"no control groups here: {error}")
    ended = subprocess.run(
        [sys.executable, "-c", REAL], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.stdout.startswith("limited"), ended.stderr
