-- The tables of a store in PostgreSQL, as in sqlite.sql, which says what each column holds. `tidy` brings rows into the order of keys.

CREATE TABLE surveys (
    number    INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    plan      TEXT NOT NULL,
    state     TEXT NOT NULL,
    opened    TEXT NOT NULL,
    closed    TEXT,
    keep_days INTEGER,
    invited   INTEGER NOT NULL,
    model     TEXT,
    revision  INTEGER NOT NULL
);

CREATE TABLE reports (
    survey INTEGER NOT NULL,
    id     BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (survey, id)
);

CREATE TABLE invitations (
    survey INTEGER NOT NULL,
    code   BYTEA NOT NULL,
    used   INTEGER NOT NULL,
    PRIMARY KEY (survey, code)
);

CREATE TABLE tallies (
    survey INTEGER NOT NULL,
    day    TEXT NOT NULL,
    what   TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (survey, day, what)
);

CREATE TABLE tokens (
    id      TEXT PRIMARY KEY,
    hash    BYTEA NOT NULL,
    survey  INTEGER,
    scopes  TEXT NOT NULL,
    expires TEXT NOT NULL,
    revoked INTEGER NOT NULL
);

CREATE TABLE jobs (
    id      TEXT PRIMARY KEY,
    survey  INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    options TEXT NOT NULL,
    state   TEXT NOT NULL,
    said    TEXT NOT NULL,
    result  BYTEA
);

CREATE TABLE notes (
    name    TEXT PRIMARY KEY,
    content BYTEA NOT NULL
);

CREATE TABLE sfumato_version (
    version INTEGER NOT NULL
);
