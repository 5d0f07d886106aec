"""What tests know of the file tools; see `tests/tools/examples.py`."""

from tests.tools.examples import TEXT, ToolExample

READS = "reads the workspace"
TOOLS = {
    "read_file": ToolExample(
        good={"path": "a.txt"},
        failing={"path": "no such file"},
        brings="nothing",
        inside=READS,
    ),
    "list_dir": ToolExample(
        good={"path": "."}, failing={"path": "no such folder"}, brings="nothing", inside=READS
    ),
    "search_files": ToolExample(good={"pattern": "hello"}, brings="nothing", inside=READS),
    "write_file": ToolExample(
        good={"path": "b.txt", "content": "b"},
        failing={"path": "../b.txt", "content": "b"},
        brings="nothing",
        leaving={"path": "AGENTS.md", "content": TEXT},
    ),
    "edit_file": ToolExample(
        good={"path": "c.txt", "old_text": "old", "new_text": "old old"},
        failing={"path": "a.txt", "old_text": "not there", "new_text": "x"},
        brings="nothing",
        leaving={"path": "skills/a/SKILL.md", "old_text": "a", "new_text": TEXT},
    ),
}
