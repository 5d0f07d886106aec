"""What tests know of the tools of memory; see `tests/tools/examples.py`."""

from tests.tools.examples import ToolExample

READS = "reads memory"
TOOLS = {
    "memory_search": ToolExample(good={"query": "anything"}, brings="by the call", inside=READS),
    "memory_save": ToolExample(good={"text": "Ann likes tea"}, brings="by the call"),
    "memory_forget": ToolExample(failing={"id": 99}, brings="by the call", leaving={"id": 1}),
    "need_information": ToolExample(brings="by the call", inside=READS),
}
