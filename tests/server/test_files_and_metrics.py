"""Files that go with messages, and what Prometheus collects."""

from __future__ import annotations

import io
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from nanobot.providers.base import Completion, Usage
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.pictures import png
from tests.plugins.http_api.test_streams import reading
from tests.server.housing import Client, House, house


async def test_a_file_is_uploaded_goes_with_a_message_and_is_read_again(served: House) -> None:
    owner = await served.owner()
    code, file = await owner.ask("POST", "/api/uploads", params={"name": "../a b.txt"}, data=b"hi")
    assert (code, file["name"], file["kind"], file["size"]) == (200, "a b.txt", "document", 2)
    assert (served.home / "workspace" / file["path"]).read_bytes() == b"hi"
    async with reading(owner, "/api/sessions/web:desk/events") as reader:
        await reader.item()
        code, _ = await owner.post("/api/sessions/web:desk/messages", attachments=[file])
        assert code == 200
        await reader.until("end")
    _, page = await owner.get("/api/sessions/web:desk/entries")
    assert page["entries"][0]["body"]["attachments"][0]["blob"] == file["blob"]
    url = f"{served.url}/api/blobs/{file['blob']}"
    async with owner.session.get(url, headers=owner.headers, params={"name": "x.html"}) as response:
        assert await response.read() == b"hi"
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert "sandbox" in response.headers["Content-Security-Policy"]


async def test_files_of_the_workspace_are_listed_shown_and_given(served: House) -> None:
    owner, folder = await served.owner(), served.home / "workspace" / "out put"
    (folder / "deep").mkdir(parents=True)
    (folder / "<b>.html").write_text("<script>alert(1)</script>")
    (folder / "red.png").write_bytes(png())
    (folder / "big.bin").write_bytes(bytes(range(256)) * 4_000)
    _, rows = await owner.get("/api/files/list", folder="out put")
    assert [row["path"] for row in rows] == [
        *("out put/deep", "out put/<b>.html", "out put/big.bin", "out put/red.png"),
    ]
    _, shown = await owner.get("/api/files/show", path="out put/<b>.html")
    assert shown["text"].startswith("<script>")
    for name, how, kind in (
        ("<b>.html", "attachment", "application/octet-stream"),
        ("big.bin", "attachment", "application/octet-stream"),
        ("red.png", "inline", "image/png"),
    ):
        url = f"{served.url}/api/workspace?path=out%20put/{quote(name)}"
        async with owner.session.get(URL(url, encoded=True), headers=owner.headers) as response:
            assert await response.read() == (folder / name).read_bytes()
            assert response.headers["Content-Type"] == kind
            assert response.headers["Content-Disposition"].startswith(how)
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert "sandbox" in response.headers["Content-Security-Policy"]


async def code_of(client: Client, path: str) -> int:
    """What comes of asking for a file of the workspace, written so."""
    url = URL(f"{client.url}/api/workspace?path={path}", encoded=True)
    async with client.session.get(url, headers=client.headers) as response:
        return response.status


async def test_no_file_leads_out_of_the_workspace_or_past_the_policy(tmp_path: Path) -> None:
    rule = '[[policy.rules]]\ntool = "read_file"\nargs.path = "secret/**"\nverdict = "deny"'
    async with house(tmp_path / "home", web=rule) as served:
        owner, member = await served.owner(), await served.program("anna", "member")
        workspace = served.home / "workspace"
        (workspace / "secret").mkdir()
        (workspace / "secret" / "plan.md").write_text("hush")
        (workspace / "link").symlink_to("/etc/passwd")
        (workspace / "notes.md").write_text("fine")
        codes = {
            path: (await code_of(owner, path))
            for path in (
                *("secret/plan.md", "link", "%2e%2e/config.toml", "secret", "nothing", "notes.md"),
                *("%2fetc%2fpasswd", "secret/%2e%2e/secret/plan.md", "a%00b", "", "x&path=y"),
            )
        }
        assert codes.pop("notes.md") == 200
        assert set(codes.values()) <= {400, 403, 404, 409}, codes
        assert (await owner.get("/api/files/show", path="secret/plan.md"))[0] == 403
        assert (await member.get("/api/files/list"))[0] == 403
        assert await code_of(member, "notes.md") == 403


async def test_only_pictures_are_shown(served: House, owner: Client) -> None:
    code, file = await owner.ask("POST", "/api/uploads", params={"name": "a.html"}, data=png())
    assert (code, file["kind"], file["mime"]) == (200, "image", "image/png")
    url = f"{served.url}/api/blobs/{file['blob']}"
    async with owner.session.get(url, headers=owner.headers) as response:
        assert response.headers["Content-Type"] == "image/png"
        assert response.headers["Content-Disposition"].startswith("inline")


async def test_every_upload_is_content_from_outside(served: House) -> None:
    for who, client in (
        ("an owner", await served.owner()),
        ("a member", await served.program("anna", "member")),
    ):
        name = f"of {who}.txt"
        content = name.encode()
        code, file = await client.ask("POST", "/api/uploads", params={"name": name}, data=content)
        assert code == 200
        tainted = await served.parts.operations.call("security files", {})
        assert file["path"] in {each.path for each in tainted}


@pytest.mark.parametrize("digest", ["0" * 64, "x", "..%2f..%2fconfig.toml", "%00"])
async def test_there_are_no_other_files(served: House, digest: str) -> None:
    owner, member = await served.owner(), await served.program("anna", "member")
    assert (await owner.get(f"/api/blobs/{digest}"))[0] == 404
    assert (await member.get(f"/api/blobs/{digest}"))[0] in {403, 404}


async def test_what_is_too_large_or_empty_is_refused(owner: Client) -> None:
    assert (await owner.ask("POST", "/api/uploads", data=b""))[0] == 400
    assert (await owner.ask("POST", "/api/uploads", data=io.BytesIO(bytes(20_000_001))))[0] == 413


async def test_prometheus_collects_what_runs_did(tmp_path: Path) -> None:
    answer = Completion(text="done", usage=Usage(11, 3))
    async with house(tmp_path / "home", ScriptedProvider(answer)) as served:
        owner, member = await served.owner(), await served.program("anna", "member")
        async with reading(owner, "/api/sessions/web:desk/events") as reader:
            await reader.item()
            await owner.post("/api/sessions/web:desk/messages", text="go")
            await reader.until("end")
        async with owner.session.get(f"{served.url}/metrics", headers=owner.headers) as response:
            assert response.status == 200
            assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text = await response.text()
        assert (await member.get("/metrics"))[0] == 403
        assert (await (await served.stranger()).get("/metrics"))[0] == 401
    for line in text.splitlines():
        assert re.fullmatch(
            r'# (HELP|TYPE) nanobot_\w+ .+|nanobot_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e+-]+',
            line,
        ), line
    assert 'nanobot_runs_total{state="completed"} 1.0' in text
    assert 'nanobot_runs_total{state="failed"} 0.0' in text
    assert 'nanobot_tokens_total{kind="prompt"} 11.0' in text
    assert "nanobot_sessions 1.0" in text


async def test_prometheus_own_parser_reads_it_and_finds_its_conventions_kept(
    tmp_path: Path,
) -> None:
    script = (asks_for('a "\\\n b', x=1), asks_for("list_dir", path="."), "done")
    async with house(tmp_path / "home", ScriptedProvider(*script)) as served:
        owner = await served.owner()
        async with reading(owner, "/api/sessions/web:desk/events") as reader:
            await reader.item()
            await owner.post("/api/sessions/web:desk/messages", text="go")
            await reader.until("end")
        async with owner.session.get(f"{served.url}/metrics", headers=owner.headers) as response:
            families = list(text_string_to_metric_families(await response.text()))
    samples = [sample for family in families for sample in family.samples]
    assert len({(s.name, frozenset(s.labels.items())) for s in samples}) == len(samples)
    for family in families:
        assert re.fullmatch("nanobot_[a-z_]+", family.name)
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge", "histogram")
        # The parser takes `_total` off a counter's name, and leaves that of one without it alone.
        ends = {sample.name.endswith("_total") for sample in family.samples}
        assert ends <= {family.type == "counter"}, family.name
        assert not re.search("_(ms|minutes|kb|mb|percent)(_|$)", family.name)
    tools = {s.labels["tool"]: s.labels["outcome"] for s in samples if "tool_calls" in s.name}
    assert tools["list_dir"] == "ok"
    kinds = {s.labels["kind"] for s in samples if s.name == "nanobot_tokens_total"}
    assert kinds == {"prompt", "completion"}, "their sum is the sum of the tokens"
