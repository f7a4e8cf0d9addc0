"""The pump and the official TypeScript client at the same job, against one server with the same faults: what each
loses, how long a line takes, how long a start takes, and how much memory it holds. Prints a table.

compare.py LISTEN_FIRE PEERS [PHASE...]

LISTEN_FIRE is the built program, PEERS the folder that tests/peers/setup filled. Nothing here is a test: it says what
it found. The server is the only other load that it makes; all runs on loopback.
"""
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

URIS = [f"board://{number}/state.json" for number in range(10)]
HERE = Path(__file__).parent


class Server:
    """A server with sessions and no event ids, and handles for what goes wrong."""

    def __init__(self):
        self.port, self.listening = 0, None
        self.sessions, self.sockets = {}, set()
        self.texts = {uri: "text 0" for uri in URIS}
        self.count = 0

    async def start(self):
        self.listening = await asyncio.start_server(self.connection, "127.0.0.1", self.port)
        self.port = self.listening.sockets[0].getsockname()[1]

    async def stop(self):
        """It dies: nobody is told, no session is kept."""
        self.listening.close()
        self.sessions.clear()
        for socket in list(self.sockets):
            socket.transport.abort()
        await asyncio.sleep(0.05)

    async def connection(self, reader, writer):
        self.sockets.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method = head[0].split(" ")[0]
                headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if line}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                session = self.sessions.get(headers.get("mcp-session-id"))
                if method == "GET" and session is not None:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: open\n\n")
                    session["stream"] = writer
                    await reader.read()
                    return
                self.reply(writer, method, headers, body, session)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for session in self.sessions.values():
                if session["stream"] is writer:
                    session["stream"] = None
            self.sockets.discard(writer)
            writer.close()

    def reply(self, writer, method, headers, body, session):
        def answer(status, value=None, extra=""):
            text = b"" if value is None else json.dumps(value).encode()
            kind = "Content-Type: application/json\r\n" if text else ""
            writer.write(f"HTTP/1.1 {status} X\r\n{kind}{extra}Content-Length: {len(text)}\r\n\r\n".encode() + text)

        if method != "POST":
            self.sessions.pop(headers.get("mcp-session-id"), None)
            return answer(204 if session else 404)
        message = json.loads(body)
        asked, number = message.get("method"), message.get("id")
        result = lambda value: {"jsonrpc": "2.0", "id": number, "result": value}
        error = lambda code, text: {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
        if asked == "initialize":
            self.count += 1
            self.sessions[str(self.count)] = {"uris": set(), "stream": None}
            about = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"resources": {"subscribe": True}},
                "serverInfo": {"name": "compare", "version": "1"},
            }
            return answer(200, result(about), f"Mcp-Session-Id: {self.count}\r\n")
        if asked == "server/discover":
            return answer(400, error(-32000, "Bad Request: Server not initialized"))
        if session is None:
            return answer(404, error(-32001, "Session not found"))
        if number is None:
            return answer(202)
        uri = message.get("params", {}).get("uri")
        if asked == "resources/subscribe":
            session["uris"].add(uri)
            return answer(200, result({}))
        if asked == "resources/read":
            return answer(200, result({"contents": [{"uri": uri, "text": self.texts[uri]}]}))
        return answer(200, error(-32601, "no such method"))

    def streams(self):
        return [session for session in self.sessions.values() if session["stream"]]

    def listened(self):
        return any(len(session["uris"]) == len(URIS) for session in self.streams())

    def change(self, uri):
        """Changes it and tells who listens; whether anybody did."""
        self.texts[uri] = f"text {time.monotonic()}"
        params = json.dumps({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
        told = [session for session in self.streams() if uri in session["uris"]]
        for session in told:
            session["stream"].write(f"event: message\ndata: {params}\n\n".encode())
        return bool(told)

    def end(self, how):
        for session in self.streams():
            stream, session["stream"] = session["stream"], None
            if how == "end":
                stream.close()
            elif how == "cut":
                stream.transport.abort()
            # Else the way is dead, and neither end is told.


class Subject:
    """One of the two, running."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.lines, self.subscribed = [], 0

    async def start(self):
        self.began = time.monotonic()
        pipe = asyncio.subprocess.PIPE
        self.child = await asyncio.create_subprocess_exec(*self.command, cwd=self.folder, stdout=pipe, stderr=pipe)
        self.readers = [asyncio.create_task(self.results()), asyncio.create_task(self.asides())]

    async def results(self):
        while line := await self.child.stdout.readline():
            self.lines.append((time.monotonic(), json.loads(line)["uri"]))

    async def asides(self):
        while line := await self.child.stderr.readline():
            if b'"subscribed"' in line:
                self.subscribed += 1
                self.ready = time.monotonic()

    def memory(self):
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        read = lambda name: int(next(line.split()[1] for line in status.splitlines() if line.startswith(name))) * 1024 / 1e6
        return read("RssAnon:"), read("VmRSS:")

    async def stop(self):
        self.child.terminate()
        try:
            await asyncio.wait_for(self.child.wait(), 5)
        except asyncio.TimeoutError:
            self.child.kill()
            await self.child.wait()
        for reader in self.readers:
            await reader


async def until(holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.002)
    return True


async def starts(make, server):
    found = []
    for _ in range(11):
        subject = make()
        await subject.start()
        assert await until(lambda: subject.subscribed > 0, 30), "it does not subscribe"
        found.append((subject.ready - subject.began) * 1000)
        await subject.stop()
    return f"{statistics.median(found):.0f} ms (of 11: {min(found):.0f} to {max(found):.0f})"


async def latency(make, server):
    subject = make()
    await subject.start()
    await until(server.listened, 30)
    await asyncio.sleep(1)
    subject.lines.clear()
    found = []
    for number in range(500):
        at = time.monotonic()
        server.change(URIS[number % 10])
        await until(lambda: len(subject.lines) > number, 10)
        found.append((subject.lines[-1][0] - at) * 1000)
        await asyncio.sleep(0.005)
    await subject.stop()
    found.sort()
    return f"p50 {found[250]:.1f} ms, p99 {found[494]:.1f} ms; {len(subject.lines)} lines of 500"


async def burst(make, server):
    subject = make()
    await subject.start()
    await until(server.listened, 30)
    await asyncio.sleep(1)
    subject.lines.clear()
    began = time.monotonic()
    for number in range(3000):
        server.change(URIS[number % 10])
        await asyncio.sleep(max(0, began + number / 1000 - time.monotonic()))
    sent = time.monotonic()
    await until(lambda: len(subject.lines) >= 3000, 120)
    last = subject.lines[-1][0] - sent if subject.lines else 0
    await subject.stop()
    return f"{len(subject.lines)} lines of 3000, the last {last:.1f} s after the last update"


async def hour(make, server):
    """An hour's worth: an update a second, a heartbeat every 25 s, a cap every 15 minutes; as fast as it goes."""
    subject = make()
    await subject.start()
    await until(server.listened, 30)
    await asyncio.sleep(1)
    subject.lines.clear()
    most = 0
    for second in range(3600):
        if second % 900 == 899:
            server.end("end")
            await until(server.listened, 30)
        if second % 25 == 0:
            for session in server.streams():
                session["stream"].write(b": alive\n\n")
        before = len(subject.lines)
        server.change(URIS[second % 10])
        await until(lambda: len(subject.lines) > before, 5)
        if second % 60 == 0:
            most = max(most, subject.memory()[0])
    own, resident = subject.memory()
    await subject.stop()
    return f"{max(most, own):.1f} MB own at most, {resident:.1f} MB resident at the end"


async def faults(make, server):
    """Changes during each fault and after it; of how many the reader never heard."""
    table = []
    for name, times, away, patience in [
        ("the server ends the stream", 5, 0, 10),
        ("the stream is cut", 5, 0, 10),
        ("the way dies without a word", 1, 0, 80),
        ("the server is restarted, away 5 s", 3, 5, 60),
        ("the server is away 60 s", 1, 60, 60),
    ]:
        subject = make()
        await subject.start()
        await until(server.listened, 30)
        await asyncio.sleep(1)
        server.change(URIS[2])
        await until(lambda: subject.lines, 10)
        subject.lines.clear()
        made = lost = 0
        back = []
        for _ in range(times):
            at = time.monotonic()
            for uri, when in [(URIS[0], "during"), (URIS[1], "after")]:
                heard = lambda: any(line[1] == uri and line[0] >= at for line in subject.lines)
                if when == "during":
                    if "cut" in name:
                        server.end("cut")
                    elif "ends" in name:
                        server.end("end")
                    elif "way" in name and not away:
                        server.end("dead")
                    else:
                        await server.stop()
                    server.change(uri)
                    await asyncio.sleep(away)
                    if away:
                        await server.start()
                    since = time.monotonic()
                    if await until(server.listened, patience):
                        back.append(time.monotonic() - since)
                    await until(heard, 8)
                else:
                    server.change(uri)
                    await until(heard, 3)
                made += 1
                lost += not heard()
        await subject.stop()
        again = f"listening again after {statistics.mean(back):.1f} s" if back else "never listening again"
        table.append(f"{name}: {lost} of {made} changes never told; {again}")
    return "\n    ".join(["", *table])


async def main():
    program, peers, *wanted = sys.argv[1:]
    phases = {"start": starts, "latency": latency, "burst": burst, "hour": hour, "faults": faults}
    subjects = {
        "listen-fire": [program, "listen"],
        "TypeScript client": ["node", str(HERE / "client.mjs")],
    }
    for phase in wanted or phases:
        for name, command in subjects.items():
            server = Server()
            await server.start()
            url = f"http://127.0.0.1:{server.port}/mcp"
            print(f"{phase}: {name}:", await phases[phase](lambda: Subject([*command, url, *URIS], peers), server), flush=True)
            server.listening.close()


asyncio.run(main())
