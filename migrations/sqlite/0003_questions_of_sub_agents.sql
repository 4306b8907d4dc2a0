-- A sub-agent may ask, too: then its question lives as long as it runs.
CREATE TABLE questions (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    session      INTEGER NOT NULL,
    lineage      INTEGER NOT NULL,
    turn         INTEGER,
    delegation   INTEGER REFERENCES delegations (id),
    person       TEXT,
    command      TEXT NOT NULL,
    why          TEXT NOT NULL,
    state        TEXT NOT NULL DEFAULT 'asked'
                 CHECK (state IN ('asked', 'approved_once', 'approved_for_session', 'approved_always', 'denied', 'expired')),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    settled_at   INTEGER,
    CHECK ((turn IS NULL) <> (delegation IS NULL)),
    CHECK ((state = 'asked') = (settled_at IS NULL)),
    FOREIGN KEY (session, lineage, conversation) REFERENCES sessions (id, lineage, conversation)
) STRICT;
INSERT INTO questions (id, conversation, session, lineage, turn, person, command, why, state, created_at, expires_at, settled_at)
    SELECT id, conversation, session, lineage, turn, person, command, why, state, created_at, expires_at, settled_at FROM approvals;
DROP TABLE approvals;
ALTER TABLE questions RENAME TO approvals;
CREATE INDEX approvals_open ON approvals (conversation, id) WHERE settled_at IS NULL;
CREATE INDEX approvals_standing ON approvals (conversation, command) WHERE state IN ('approved_for_session', 'approved_always');
-- The first answer counts.
CREATE TRIGGER approvals_settle_once BEFORE UPDATE OF state ON approvals WHEN old.settled_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'an approval is settled once');
END;
