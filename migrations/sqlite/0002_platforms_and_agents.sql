-- What platforms with media and agents with models need.

-- Roles: a tool's answer is a message of its own. SQLite changes a CHECK only by making the table anew; nothing refers to this one.
CREATE TABLE messages_new (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    session      INTEGER NOT NULL REFERENCES sessions (id),
    turn         INTEGER,
    role         TEXT NOT NULL CHECK (role IN ('person', 'agent', 'notification', 'system', 'tool')),
    author       TEXT,
    text         TEXT NOT NULL,
    -- What an agent keeps beside the text, in its own JSON.
    data         TEXT,
    -- Taken out of what the agent sees by /undo or /retry; it stays readable.
    undone       INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1)),
    at           INTEGER NOT NULL
) STRICT;
INSERT INTO messages_new (id, conversation, session, turn, role, author, text, at)
    SELECT id, conversation, session, turn, role, author, text, at FROM messages;
DROP TABLE messages;
ALTER TABLE messages_new RENAME TO messages;
CREATE INDEX messages_of_session ON messages (session, id);
CREATE INDEX messages_of_conversation ON messages (conversation, id);

ALTER TABLE conversations ADD COLUMN model TEXT;

ALTER TABLE sessions ADD COLUMN kept_from INTEGER;

-- Files that came with it, as a JSON list; what it answers to; the group it is a part of, as JSON.
ALTER TABLE inbound ADD COLUMN attachments TEXT;
ALTER TABLE inbound ADD COLUMN quoted TEXT;
ALTER TABLE inbound ADD COLUMN together TEXT;
CREATE INDEX inbound_of_turn ON inbound (turn) WHERE state = 'taken';

ALTER TABLE turns ADD COLUMN preview TEXT;
ALTER TABLE turns ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
CREATE INDEX turns_with_usage ON turns (lineage) WHERE requests > 0;

-- Markup, buttons, a file: JSON, or NULL where there is nothing beside the text.
ALTER TABLE outbox ADD COLUMN extras TEXT;
-- OWN-73: the item that told a dead letter again.
ALTER TABLE outbox ADD COLUMN told_again_by INTEGER REFERENCES outbox (id);
CREATE INDEX outbox_dead ON outbox (conversation, id) WHERE state = 'dead' AND told_again_by IS NULL;

-- The first of those that were started together, itself included.
ALTER TABLE delegations ADD COLUMN batch INTEGER;
CREATE INDEX delegations_of_batch ON delegations (batch, id) WHERE batch IS NOT NULL;

-- Questions to a person: may this command run? Bound to person, session and exact command.
CREATE TABLE approvals (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    session      INTEGER NOT NULL,
    lineage      INTEGER NOT NULL,
    turn         INTEGER NOT NULL,
    person       TEXT,
    command      TEXT NOT NULL,
    why          TEXT NOT NULL,
    state        TEXT NOT NULL DEFAULT 'asked'
                 CHECK (state IN ('asked', 'approved_once', 'approved_for_session', 'approved_always', 'denied', 'expired')),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    settled_at   INTEGER,
    CHECK ((state = 'asked') = (settled_at IS NULL)),
    FOREIGN KEY (session, lineage, conversation) REFERENCES sessions (id, lineage, conversation)
) STRICT;
CREATE INDEX approvals_open ON approvals (conversation, id) WHERE settled_at IS NULL;
CREATE INDEX approvals_standing ON approvals (conversation, command) WHERE state IN ('approved_for_session', 'approved_always');
-- The first answer counts.
CREATE TRIGGER approvals_settle_once BEFORE UPDATE OF state ON approvals WHEN old.settled_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'an approval is settled once');
END;
