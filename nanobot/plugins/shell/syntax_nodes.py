"""Reads the nodes of a parsed command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def redirects_of(node: Node) -> Iterator[Node]:
    """The redirects of a statement, including those after a `<<EOF`."""
    for redirect in node.children_by_field_name("redirect"):
        yield redirect
        if redirect.type == "heredoc_redirect":
            yield from (child for child in redirect.named_children if child.type == "file_redirect")


def index_of(node: Node) -> str:
    """The index in an expansion of a list; "" if there is none."""
    for child in node.named_children:
        if child.type == "subscript":
            return text_of(child.named_children[-1])
    return ""


def variable_of(node: Node) -> str:
    """The name of the variable whose value a node is; "" for any other node."""
    if node.type not in ("simple_expansion", "expansion"):
        return ""
    for child in node.named_children:
        inner = child.named_children[0] if child.type == "subscript" else child
        if inner.type == "variable_name":
            return text_of(inner)
    return ""


def text_of(node: Node) -> str:
    """Its text on the line."""
    return (node.text or b"").decode("utf-8", "replace")
