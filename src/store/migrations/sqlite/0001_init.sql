-- What a project keeps. Instants are microseconds since 1970; states, kinds and flags are small integers
-- (src/store/sqlite/codec.rs); records and journal entries are JSON with tagged values.

-- A listen by its identity. The row stays when the listen goes: runs point at it.
CREATE TABLE listen (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE,
    placed        INTEGER NOT NULL DEFAULT 0,  -- it has a position
    cursor        TEXT,
    baseline_done INTEGER NOT NULL DEFAULT 0,
    listing       INTEGER NOT NULL DEFAULT 0,  -- it is in the middle of a listing
    off           INTEGER                      -- switched off by a person since then
) STRICT;

-- What a source last showed of each record.
CREATE TABLE seen (
    listen  INTEGER NOT NULL REFERENCES listen,
    key     TEXT    NOT NULL,
    version TEXT    NOT NULL,
    record  TEXT    NOT NULL,
    PRIMARY KEY (listen, key)
) STRICT;

-- What was taken in, so that it is once. Outlives its run; ids grow with time, so the old end is pruned cheaply.
CREATE TABLE delivery (
    id       INTEGER PRIMARY KEY,
    listen   INTEGER NOT NULL,
    delivery TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    UNIQUE (listen, delivery)
) STRICT;

-- One delivered change of one listen. Narrow on purpose: it is rewritten at every step; what never changes and may
-- be large stands in `change` and `entry`.
CREATE TABLE run (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    listen     INTEGER NOT NULL REFERENCES listen,
    key        TEXT    NOT NULL,
    delivery   TEXT    NOT NULL,
    kind       INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    "by"       TEXT,
    depth      INTEGER NOT NULL,
    cause      INTEGER,
    state      INTEGER NOT NULL,               -- below 5: it keeps its record's turn; 9: parked without it
    reason     TEXT,
    attempts   INTEGER NOT NULL,
    not_before INTEGER,
    fence      INTEGER NOT NULL,
    owner      TEXT,
    plan       TEXT,
    taken_in   INTEGER NOT NULL,
    finished   INTEGER,
    due        INTEGER,                        -- it has the turn and may be claimed from then on; 0: at once
    awaits     TEXT                            -- parked: the listens whose next run wakes it, each between newlines
) STRICT;

CREATE INDEX run_due ON run (listen, due) WHERE due IS NOT NULL;
CREATE INDEX run_open ON run (listen, key) WHERE state < 5;
CREATE INDEX run_parked ON run (listen) WHERE state IN (-1, 3, 4);
CREATE INDEX run_aside ON run (listen) WHERE state = 9;
CREATE INDEX run_awaits ON run (id) WHERE awaits IS NOT NULL;
CREATE INDEX run_key ON run (key);  -- for people

CREATE TABLE change (
    run    INTEGER PRIMARY KEY REFERENCES run,
    record TEXT NOT NULL,
    before TEXT,
    fields TEXT  -- the names that an update changed, as a JSON list
) STRICT;

-- The journals. `place` is run * 2^20 + number: one tree, in the order in which it is read.
CREATE TABLE entry (
    place INTEGER PRIMARY KEY,
    body  TEXT NOT NULL
) STRICT;

CREATE TABLE expectation (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    watcher    TEXT    NOT NULL,
    connection TEXT    NOT NULL,
    ty         TEXT    NOT NULL,
    key        TEXT,
    fields     TEXT    NOT NULL,
    run        INTEGER NOT NULL,
    listen     TEXT    NOT NULL,
    depth      INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE INDEX expectation_watcher ON expectation (watcher);
CREATE INDEX expectation_run ON expectation (run);

CREATE TABLE identity (
    connection TEXT    NOT NULL,
    ty         TEXT    NOT NULL,
    identity   TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (connection, ty, identity)
) STRICT, WITHOUT ROWID;

CREATE TABLE plan (
    id   TEXT    PRIMARY KEY,
    body TEXT    NOT NULL,
    at   INTEGER NOT NULL
) STRICT;

CREATE TABLE description (
    connection TEXT    PRIMARY KEY,
    body       TEXT    NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

CREATE TABLE hold (
    connection TEXT    PRIMARY KEY,
    until      INTEGER NOT NULL,
    why        TEXT    NOT NULL
) STRICT;

CREATE TABLE credential (
    name      TEXT PRIMARY KEY,
    module    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    key_id    TEXT NOT NULL,
    sealed    BLOB NOT NULL,
    last_used INTEGER,
    works     INTEGER,
    locked_by    TEXT,   -- who renews it
    locked_until INTEGER
) STRICT;

-- Small things that a module found out about a system.
CREATE TABLE note (
    name TEXT    PRIMARY KEY,
    body TEXT    NOT NULL,
    at   INTEGER NOT NULL
) STRICT;
