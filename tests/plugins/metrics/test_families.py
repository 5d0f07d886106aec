"""The table of families, and what is made of it: documents, rules, a dashboard, OTLP."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from nanobot.messages import Address, EventKind, RunEvent, RunPayload
from nanobot.plugins.common.faces import Distribution
from nanobot.plugins.common.otlp import JSON, PROTOBUF
from nanobot.plugins.metrics.families import FAMILIES
from nanobot.plugins.metrics.meter import Meter
from nanobot.plugins.metrics.otlp import encoded
from nanobot.plugins.metrics.series import Series

yaml: Any = import_module("yaml")  # without types
DEPLOY = Path(__file__).resolve().parents[3] / "docs" / "deploy"
DOCUMENT = (DEPLOY.parent / "metrics.md").read_text("utf-8")
ALERTS: dict[str, Any] = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS = [
    *((rule["alert"], rule["expr"]) for rule in RULES),
    *(
        (panel["title"], target["expr"])
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    ),
]
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
KNOWN = {
    f"nanobot_{family.name}{suffix}": {*family.labels, *(["le"] if family.bounds else [])}
    for family in FAMILIES
    for suffix in SUFFIXES[family.kind]
}
OF_PROMETHEUS = {"job", "instance", "le"}


def event(kind: EventKind, payload: RunPayload, run_id: str = "r") -> RunEvent:
    return RunEvent(
        run_id=run_id, session_key="s", model_call=1, seq=1, kind=kind, at=0.0, payload=payload
    )


def test_the_document_lists_every_family_as_the_table_has_it() -> None:
    rows = re.findall(r"^\| `nanobot_(\w+)` \| (\w+) \| (.*?) \| (.+) \|$", DOCUMENT, re.MULTILINE)
    listed = [
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)), what)
        for name, kind, labels, what in rows
    ]
    assert listed == [(each.name, each.kind, each.labels, each.about) for each in FAMILIES]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_reads_the_same_in_prometheus_wherever_it_comes_through(family: Any) -> None:
    """How the OpenTelemetry Collector names what it hands on to Prometheus."""
    written = family.otlp_name.replace(".", "_")
    written += {"s": "_seconds", "By": "_bytes"}.get(family.unit, "")
    written += "_ratio" if family.unit == "1" and family.kind == "gauge" else ""
    written += "_total" if family.kind == "counter" else ""
    assert written == f"nanobot_{family.name}"
    assert bool(family.bounds) == (family.kind == "histogram")
    assert list(family.bounds) == sorted(set(family.bounds))


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS)
def test_every_expression_names_families_and_labels_that_there_are(
    title: str, expression: str
) -> None:
    names = set(re.findall(r"\bnanobot_\w+", expression))
    assert names <= set(KNOWN), title
    assert names or expression.startswith("up{"), title
    labels = {label for name in names for label in KNOWN[name]} | OF_PROMETHEUS
    used = set(re.findall(r"(\w+)\s*=~?\s*\"", expression))
    for listed in re.findall(r"\bby \(([^)]*)\)", expression):
        used |= {label.strip() for label in listed.split(",")}
    assert used <= labels, title


def test_the_texts_of_alerts_and_legends_use_labels_that_there_are() -> None:
    for rule in RULES:
        names = re.findall(r"\bnanobot_\w+", rule["expr"])
        labels = {label for name in names for label in KNOWN[name]} | OF_PROMETHEUS
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            names = re.findall(r"\bnanobot_\w+", target["expr"])
            labels = {label for name in names for label in KNOWN[name]}
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels, panel["title"]


def test_the_dashboard_shows_every_family_and_no_panel_covers_another() -> None:
    shown = " ".join(expression for _, expression in EXPRESSIONS)
    missing = {
        each.name
        for each in FAMILIES
        if not re.search(rf"\bnanobot_{each.name}(_bucket)?\b", shown)
    }
    assert missing == set()
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        own = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not own & cells, panel["title"]
        assert max(x for x, _ in own) < 24
        cells |= own


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_own_tool_accepts_the_rules_and_the_alerts_fire(tmp_path: Path) -> None:
    def alert(name: str, labels: str, summary: str, severity: str) -> str:
        return f"""
      - eval_time: 10m
        alertname: {name}
        exp_alerts:
          - exp_labels: {{severity: {severity}, {labels}}}
            exp_annotations: {{summary: "{summary}"}}"""

    (tmp_path / "test.yaml").write_text(f"""
rule_files: [{DEPLOY / "alerts.yaml"}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'nanobot_channel_up{{channel="mail"}}', values: '0x20'}}
      - {{series: 'nanobot_channel_up{{channel="chat"}}', values: '1x20'}}
      - {{series: 'nanobot_oldest_waiting_message_seconds{{channel="mail"}}', values: '61x20'}}
      - {{series: 'nanobot_oldest_waiting_message_seconds{{channel="chat"}}', values: '59x20'}}
      - {{series: 'nanobot_dead_messages{{channel="mail"}}', values: '2x20'}}
      - {{series: 'nanobot_budget_used_ratio{{measure="cost"}}', values: '0.95x20'}}
      - {{series: 'nanobot_disk_free_bytes', values: '4e9x20'}}
      - {{series: 'nanobot_disk_size_bytes', values: '100e9x20'}}
    alert_rule_test:{
        alert(
            "NanobotChannelDown",
            "channel: mail",
            "The channel mail is not connected. nanobot doctor says why.",
            "critical",
        )
    }{
        alert(
            "NanobotMessageWaits", "channel: mail", "A message on mail waits for 1m 1s.", "warning"
        )
    }{
        alert(
            "NanobotDeadMessages",
            "channel: mail",
            "2 messages for mail could not be sent: nanobot outbox list.",
            "warning",
        )
    }{
        alert(
            "NanobotBudgetAlmostUsed",
            "measure: cost",
            "95% of today's budget (cost) is used.",
            "warning",
        )
    }
      - {{eval_time: 10m, alertname: NanobotAnswerUnsent, exp_alerts: []}}
""")
    for arguments in (["check", "rules", DEPLOY / "alerts.yaml"], ["test", "rules", "test.yaml"]):
        done = subprocess.run(
            ["promtool", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
def test_a_collector_gets_every_family_with_its_kind_and_its_buckets(kind: str) -> None:
    meter = Meter()
    meter.offer(event(EventKind.TOOL_RESULT, {"name": "exec", "ok": True, "ms": 300}))
    body = encoded(meter.metrics(), 100.0, 160.0, {"service.name": "nanobot"}, kind)
    if kind == JSON:
        (resource,) = json.loads(body)["resourceMetrics"]
        found = {each["name"]: each for each in resource["scopeMetrics"][0]["metrics"]}
        (point,) = found["nanobot.tool_call"]["histogram"]["dataPoints"]
        assert (point["count"], point["sum"], len(point["bucketCounts"])) == ("1", 0.3, 15)
        return
    message = ExportMetricsServiceRequest.FromString(body)
    metrics = {each.name: each for each in message.resource_metrics[0].scope_metrics[0].metrics}
    (bucketed,) = metrics["nanobot.tool_call"].histogram.data_points
    *counts, above = bucketed.bucket_counts
    filled = [bound for bound, n in zip(bucketed.explicit_bounds, counts, strict=True) if n]
    assert (filled, above) == ([0.32], 0)
    assert metrics["nanobot.tool_calls"].sum.is_monotonic
    assert metrics["nanobot.tool_call"].histogram.aggregation_temporality == 2
    assert bucketed.start_time_unix_nano == 100 * 10**9
    assert bucketed.time_unix_nano == 160 * 10**9


def test_names_that_models_make_up_are_not_counted_one_by_one_for_ever() -> None:
    meter = Meter()
    for number in range(1_000):
        name = f"tool{number}" + "x" * 1_000
        meter.offer(event(EventKind.TOOL_RESULT, {"name": name, "ok": False, "ms": 1}))
    values = meter.tools.metric().values
    assert len(values) <= 201
    assert sum(value for value in values.values() if isinstance(value, float)) == 1_000
    assert max(len(text) for labels in values for _, text in labels) == 64
    timed = meter.tool_call.metric().values.values()
    assert sum(sum(each.counts) for each in timed if isinstance(each, Distribution)) == 1_000


def test_a_clock_that_jumps_leaves_no_negative_times() -> None:
    for family in FAMILIES:
        if family.bounds:
            series = Series(family)
            for value in (-5.0, float("nan"), float("inf"), 0.0):
                series.observe(value, *family.labels)
            (found,) = series.metric().values.values()
            assert isinstance(found, Distribution)
            assert (found.counts[0], found.total) == (4, 0.0)


def test_the_time_of_an_answer_leaves_out_the_wait_for_a_person() -> None:
    now = [100.0]
    meter = Meter(lambda: now[0])
    address = Address("telegram", "7")
    running: RunPayload = {
        "state": "running",
        "address": address,
        "inbound_ids": [],
        "reply_key": "",
    }
    meter.offer(event(EventKind.STATUS, running))
    now[0] += 2
    meter.offer(event(EventKind.STATUS, {"state": "waiting"}))
    now[0] += 3_600
    meter.offer(event(EventKind.STATUS, running))
    now[0] += 3
    answer: RunPayload = {"text": "hi", "model": "m", "ms": 2_000, "first_ms": 500}
    meter.offer(event(EventKind.ASSISTANT_MESSAGE, answer))
    meter.offer(event(EventKind.END, {"state": "completed"}))
    for series, seconds in ((meter.turn, 5.0), (meter.first_word, 3.5), (meter.model_call, 2.0)):
        (found,) = series.metric().values.values()
        assert isinstance(found, Distribution)
        assert (found.total, sum(found.counts)) == (seconds, 1)


def test_runs_that_never_end_are_forgotten() -> None:
    meter = Meter()
    for number in range(5_000):
        started: RunPayload = {"state": "running", "address": Address("t", "7"), "reply_key": "k"}
        meter.offer(event(EventKind.STATUS, started, f"r{number}"))
    assert len(vars(meter)["_turns"]) == 2_000
