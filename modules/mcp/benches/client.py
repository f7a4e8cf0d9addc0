"""Calls one tool by the official Python client: client.py URL CALLS. Prints calls a second."""

import asyncio
import sys
import time

from mcp import Client


async def main(url: str, calls: int) -> None:
    async with Client(url) as client:
        await client.list_tools()
        for _ in range(100):
            await client.call_tool("search", {"query": "Acme"})
        start = time.perf_counter()
        for _ in range(calls):
            await client.call_tool("search", {"query": "Acme"})
        print(round(calls / (time.perf_counter() - start)))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
