"""A server on the package fastmcp with 621 tools in 13 pages: one read-only, 620 that write.

many_tools.py PORT
"""
import sys
from dataclasses import dataclass

from fastmcp import FastMCP

server = FastMCP("many-tools", list_page_size=50)
CALLS = []


@dataclass
class Made:
    made: int
    names: list[str]


@server.tool(annotations={"readOnlyHint": True})
def calls(prefix: str) -> Made:
    """The writing calls made so far whose name starts with the prefix."""
    names = [name for name in CALLS if name.startswith(prefix)]
    return Made(made=len(names), names=names)


def tool(number: int):
    def act(value: int, note: str | None = None) -> str:
        CALLS.append(act.__name__)
        return f"{act.__name__} got {value}" + (f" ({note})" if note else "")

    act.__name__ = f"act_{number:04d}"
    act.__doc__ = f"Writing tool number {number}."
    return act


for number in range(620):
    server.tool(tool(number))

server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
