"""A server on the package mcp with faults in front of it: the path names the fault. It writes down what it was asked.

faults.py PORT LOG
"""
import json
import sys
import time

import uvicorn
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("faults")
NOTES = []


@server.tool()
def note(text: str) -> int:
    """Adds a note."""
    NOTES.append(text)
    return len(NOTES)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def notes() -> list[str]:
    """All notes."""
    return NOTES


class Faults:
    def __init__(self, app, log):
        self.app = app
        self.log = log
        self.met = {}
        self.forgotten = set()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        fault = scope["path"].strip("/")
        body = b""
        more = scope["method"] == "POST"
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        asked = json.loads(body) if body else {}
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        session = headers.get("mcp-session-id")
        tool = asked.get("params", {}).get("name") if asked.get("method") == "tools/call" else None
        # Which call of a tool this is, by this path.
        count = self.met[fault, tool] = self.met.get((fault, tool), 0) + 1
        self.note(at=time.monotonic(), fault=fault, method=scope["method"], rpc=asked.get("method"), tool=tool,
                  session=session, version=headers.get("mcp-protocol-version"))

        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def again():
            return given.pop() if given else await receive()

        async def answer(status, text, *more):
            head = [(b"content-type", b"application/json"), *more]
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": text})

        first = tool is not None and count == 1
        if fault == "busy" and first:
            return await answer(429, b"later", (b"retry-after", b"1"))
        if fault == "down" and first:
            return await answer(502, b"bad gateway")
        if fault == "forgets" and first:
            self.forgotten.add(session)
        if session in self.forgotten:
            return await answer(404, b"session not found")
        if fault == "lost" and first:
            # It is done, and its answer is cut.
            async def nowhere(message):
                pass

            await self.app(dict(scope, path="/mcp", raw_path=b"/mcp"), again, nowhere)
            return await answer(200, b"{", (b"content-length", b"100"))
        await self.app(dict(scope, path="/mcp", raw_path=b"/mcp"), again, send)

    def note(self, **line):
        with open(self.log, "a") as file:
            file.write(json.dumps(line) + "\n")


app = Faults(server.streamable_http_app(), sys.argv[2])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
