"""Texts that nobody writes, and that make a Markdown parser work for the square of their length."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

REPEATED = (
    *("**_~", "*_", "*a ", "a* ", "*a* ", "**a** ", "~~a ", "~~a~~ ", "_a_ ", "**`a`** ", "*😀* "),
    *("[", "[]", "![", "[a](b ", '[a](b "', "[a](tg://b)", "[a](https://x.org) ", "![a](b)"),
    *("`a` ", "``` ", "`` a`b ``", "<", "<a ", "<https:", "<a@b.c> ", "&", "\\", "\\*", "||"),
    *("> ", "> a\n", "> *a **b\n\n", "- a\n", "- ", "1. a\n", "# a\n", "a\n=\n", "*a\n\n"),
    *("```\n", "~~~\na", "|a|b|\n|-|-|\n", "[a]: b\n", "https://", "https://x*y_", "🇩🇪", "a\n"),
)
"""What a hostile text says again and again."""


def repeated(piece: str, size: int) -> str:
    """The piece as often as it takes for this many characters."""
    return (piece * (size // len(piece) + 1))[:size]


@lru_cache(maxsize=2)
def hostile(size: int) -> dict[str, str]:
    """Texts of about this many characters by what they are made of."""
    half, row = size // 2, "a|" * 200
    return {piece: repeated(piece, size) for piece in REPEATED} | {
        "emphasis within itself": repeated("*a ", half) + repeated(" a*", half),
        "links within links": "[" * half + "a" + "](b)" * (half // 4),
        "backticks, ever more": "".join("`" * n + "a" for n in range(int((2 * size) ** 0.5))),
        "a table": "|a|b|\n|-|-|\n" + repeated("|x|*y*|\n", size),
        "a table with many columns": f"|{row}\n|{'-|' * 200}\n" + repeated("|a|\n", size),
        "lists, ever deeper": "".join(f"{' ' * (n % 40)}- a\n" for n in range(size // 20)),
        "quotes within quotes, in lists": repeated(f"- {'>' * 40}a\n", size),
        "emphasis that goes on": "*" + repeated("a\n", size),
    }


def texts(*sizes: int) -> st.SearchStrategy[str]:
    """Hostile texts of these sizes, up to three of them one behind the other."""
    return st.builds(
        lambda pieces, size: "".join(repeated(piece, size) for piece in pieces),
        st.lists(st.sampled_from(REPEATED), min_size=1, max_size=3),
        st.sampled_from(sizes),
    )
