CREATE TABLE experiment (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    next_seq BIGINT NOT NULL,
    first_seq BIGINT NOT NULL
);
CREATE TABLE event (
    exp BIGINT NOT NULL REFERENCES experiment (id),
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    arm TEXT,
    value DOUBLE PRECISION,
    p DOUBLE PRECISION,
    reason TEXT,
    t BIGINT NOT NULL,
    since BIGINT,
    body TEXT,
    PRIMARY KEY (exp, seq)
);
CREATE UNIQUE INDEX event_key ON event (exp, key, kind);
CREATE TABLE pending (
    exp BIGINT NOT NULL REFERENCES experiment (id),
    key TEXT NOT NULL,
    arm TEXT NOT NULL,
    deadline BIGINT NOT NULL,
    total DOUBLE PRECISION,
    PRIMARY KEY (exp, key)
);
CREATE INDEX pending_deadline ON pending (exp, deadline);
CREATE TABLE unit (
    exp BIGINT NOT NULL REFERENCES experiment (id),
    hash TEXT NOT NULL,
    arm TEXT NOT NULL,
    PRIMARY KEY (exp, hash)
);
CREATE TABLE snapshot (
    exp BIGINT NOT NULL REFERENCES experiment (id),
    seq BIGINT NOT NULL,
    library_version TEXT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (exp, seq, library_version)
);
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    created BIGINT NOT NULL,
    revoked BIGINT
);
