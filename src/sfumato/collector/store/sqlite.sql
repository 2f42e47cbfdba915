-- The tables of an embedded store. Every table lies in the order of its key: a hidden row number would be the order of arrival.
-- postgresql.sql has the same tables; TABLES in connection.py names their keys.

CREATE TABLE surveys (
    number    INTEGER PRIMARY KEY,            -- random, so that a deleted survey leaves none for another
    name      TEXT NOT NULL UNIQUE,
    plan      TEXT NOT NULL,                  -- JSON
    state     TEXT NOT NULL,                  -- open, closed
    opened    TEXT NOT NULL,                  -- days, in UTC
    closed    TEXT,
    keep_days INTEGER,                        -- after closing; NULL: for ever
    invited   INTEGER NOT NULL,               -- 1: a report needs an invitation
    model     TEXT,                           -- the model that goes home, JSON
    revision  INTEGER NOT NULL                -- changes when anything above does
) WITHOUT ROWID;

CREATE TABLE reports (
    survey INTEGER NOT NULL,
    id     BLOB NOT NULL,                     -- made by the device, random
    body   BLOB NOT NULL,                     -- the row of form.ReportForm; empty: withdrawn
    PRIMARY KEY (survey, id)
) WITHOUT ROWID;

CREATE TABLE invitations (
    survey INTEGER NOT NULL,
    code   BLOB NOT NULL,                     -- a hash
    used   INTEGER NOT NULL,
    PRIMARY KEY (survey, code)
) WITHOUT ROWID;

CREATE TABLE tallies (
    survey INTEGER NOT NULL,
    day    TEXT NOT NULL,
    what   TEXT NOT NULL,                     -- accepted, withdrawn, refused: <reason>
    number INTEGER NOT NULL,
    PRIMARY KEY (survey, day, what)
) WITHOUT ROWID;

CREATE TABLE tokens (
    id      TEXT PRIMARY KEY,
    hash    BLOB NOT NULL,
    survey  INTEGER,                          -- NULL: every survey
    scopes  TEXT NOT NULL,
    expires TEXT NOT NULL,
    revoked INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE jobs (
    id      TEXT PRIMARY KEY,                 -- ids of later jobs are larger
    survey  INTEGER NOT NULL,
    kind    TEXT NOT NULL,                    -- train, itemsets, audit
    options TEXT NOT NULL,                    -- JSON
    state   TEXT NOT NULL,                    -- waiting, running, done, failed, stopped
    said    TEXT NOT NULL,
    result  BLOB
) WITHOUT ROWID;

CREATE TABLE notes (
    name    TEXT PRIMARY KEY,                 -- canary, tidied
    content BLOB NOT NULL
) WITHOUT ROWID;
