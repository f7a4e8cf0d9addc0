"""A server on the package mcp whose schemas are hard to read, with a resource that it tells of when it changes.

hard_schemas.py PORT
"""
import datetime
import enum
import sys
import uuid
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("hard-schemas")
NOTES = ["the first"]


class Team(enum.Enum):
    eng = "ENG"
    ops = "OPS"


class Weight(enum.IntEnum):
    light = 1
    heavy = 2


class Task(BaseModel):
    title: str
    parts: list["Task"] = []
    under: "Task | None" = None


class ByMail(BaseModel):
    way: Literal["mail"]
    address: str


class ByPhone(BaseModel):
    way: Literal["phone"]
    number: int


Contact = Annotated[ByMail | ByPhone, Field(discriminator="way")]


class Plan(BaseModel):
    day: datetime.date
    moment: datetime.datetime
    team: Team | None
    count: int
    contacts: list[Contact]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def plan(
    title: str,
    limit: int | None,
    either: int | str | None = None,
    team: Team = Team.eng,
    weight: Weight = Weight.light,
    day: datetime.date | None = None,
    moment: datetime.datetime | None = None,
    lasts: datetime.timedelta | None = None,
    task: Task | None = None,
    contact: Contact | None = None,
    hours: dict[str, float] = {},
    pair: tuple[int, str] = (1, "x"),
    mark: uuid.UUID | None = None,
    teams: list[Team] = [],
    anything: object = None,
) -> Plan:
    """Every shape of argument that a model of Python makes."""
    count = len([given for given in (limit, either, day, moment, lasts, task, contact, mark, anything) if given])
    return Plan(
        day=day or datetime.date(2026, 1, 2),
        moment=moment or datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        team=team,
        count=count,
        contacts=[contact] if contact else [],
    )


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def numbers(upto: int) -> list[int]:
    """A list, which is no object."""
    return list(range(upto))


@server.tool()
def refuse(why: str) -> str:
    """Always fails."""
    raise ValueError(why)


@server.tool()
async def note(text: str, context: Context) -> int:
    """Adds a note, and tells who watches them."""
    NOTES.append(text)
    await context.notify_resource_updated("notes://all")
    return len(NOTES)


@server.resource("notes://all", name="all-notes", mime_type="text/plain")
def notes() -> str:
    """All notes, a line each."""
    return "\n".join(NOTES)


@server.resource("notes://{number}")
def one(number: str) -> str:
    """One of them."""
    return NOTES[int(number)]


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
