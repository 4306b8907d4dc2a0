-- The first schema of the SQLite store.
--
-- Invariant: a forbidden state is unwritable, whatever the code does. A CHECK ties every column that only makes sense in one state to that
-- state; a UNIQUE index carries every "at most one" of design/ownership.md. The store's own tests write each forbidden row and see it refused.
--
-- Conventions: ids are the numbers of homing-domain's ids (they sort by time); moments are milliseconds since 1970 UTC; an origin is JSON;
-- enums are their domain names. `..._waiting`, `..._open`, `..._live` are partial indexes: they hold only what is not settled, so that a
-- conversation's hot queries cost what the conversation still has to do, not what it ever did.
--
-- Absent on purpose: foreign keys on `turn` columns (a commit may name its turn before it starts it, and deferred keys would turn a
-- mistake into a failed COMMIT), and on the session and lineage of an owner (OWN-39: an owner that names nothing must be storable, to be told).

-- Every take-over of a gateway. The highest epoch is the one that may write.
CREATE TABLE instances (
    epoch    INTEGER PRIMARY KEY CHECK (epoch > 0),
    taken_at INTEGER NOT NULL
) STRICT;

-- Counts that would otherwise need a scan, kept by the triggers at the end of this file.
CREATE TABLE tallies (
    name  TEXT PRIMARY KEY,
    count INTEGER NOT NULL CHECK (count >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
    id         INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    origin     TEXT NOT NULL,
    -- OWN-10: at most one current session; pointer and lineage go together and fit each other.
    session    INTEGER,
    lineage    INTEGER,
    generation INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
    created_at INTEGER NOT NULL,
    active_at  INTEGER NOT NULL,
    CHECK ((session IS NULL) = (lineage IS NULL)),
    FOREIGN KEY (session, lineage, id) REFERENCES sessions (id, lineage, conversation)
) STRICT;
CREATE INDEX conversations_by_activity ON conversations (active_at);

CREATE TABLE lineages (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    tip          INTEGER NOT NULL UNIQUE,
    closed_by    TEXT CHECK (closed_by IN ('reset', 'deleted', 'idle', 'daily')),
    closed_at    INTEGER,
    CHECK ((closed_by IS NULL) = (closed_at IS NULL)),
    UNIQUE (id, conversation)
) STRICT;

CREATE TABLE sessions (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    lineage      INTEGER NOT NULL,
    -- OWN-11: one continuation per session, in the same lineage.
    continues    INTEGER UNIQUE CHECK (continues <> id),
    -- OWN-12: a branch remembers its parent and is not a continuation.
    parent       INTEGER REFERENCES sessions (id),
    title        TEXT,
    summary      TEXT,
    started_at   INTEGER NOT NULL,
    ended_by     TEXT CHECK (ended_by IN ('compressed', 'reset', 'deleted', 'idle', 'daily')),
    ended_at     INTEGER,
    CHECK ((ended_by IS NULL) = (ended_at IS NULL)),
    CHECK (continues IS NULL OR parent IS NULL),
    UNIQUE (id, lineage, conversation),
    FOREIGN KEY (lineage, conversation) REFERENCES lineages (id, conversation),
    FOREIGN KEY (continues, lineage, conversation) REFERENCES sessions (id, lineage, conversation)
) STRICT;
-- At most one open session per lineage: its tip.
CREATE UNIQUE INDEX sessions_open ON sessions (lineage) WHERE ended_at IS NULL;
CREATE INDEX sessions_of_conversation ON sessions (conversation, id);

CREATE TABLE messages (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    session      INTEGER NOT NULL REFERENCES sessions (id),
    turn         INTEGER,
    role         TEXT NOT NULL CHECK (role IN ('person', 'agent', 'notification', 'system')),
    author       TEXT,
    text         TEXT NOT NULL,
    at           INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_session ON messages (session, id);
CREATE INDEX messages_of_conversation ON messages (conversation, id);

CREATE TABLE inbound (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    profile      TEXT NOT NULL,
    platform     TEXT NOT NULL,
    -- '' is the default account: NULLs would never be equal.
    account      TEXT NOT NULL,
    platform_id  TEXT NOT NULL,
    origin       TEXT NOT NULL,
    author       TEXT,
    text         TEXT NOT NULL,
    raw          TEXT,
    window       INTEGER,
    state        TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'taken', 'done')),
    turn         INTEGER,
    -- Turns that had taken it and were interrupted.
    attempts     INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    received_at  INTEGER NOT NULL,
    finished_at  INTEGER,
    CHECK ((state = 'done') = (finished_at IS NOT NULL)),
    CHECK (state <> 'taken' OR turn IS NOT NULL),
    CHECK (state <> 'queued' OR turn IS NULL),
    -- OWN-70. With the profile, since two profiles' bots of one platform count their messages independently (OWN-6).
    UNIQUE (platform_id, platform, account, profile)
) STRICT;
CREATE INDEX inbound_waiting ON inbound (conversation, id) WHERE finished_at IS NULL;

CREATE TABLE turns (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    session      INTEGER NOT NULL,
    lineage      INTEGER NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('foreground', 'background')),
    tools        INTEGER NOT NULL DEFAULT 0 CHECK (tools >= 0),
    started_at   INTEGER NOT NULL,
    ended_by     TEXT CHECK (ended_by IN ('done', 'failed', 'cancelled', 'interrupted')),
    error        TEXT,
    ended_at     INTEGER,
    CHECK ((ended_by IS NULL) = (ended_at IS NULL)),
    CHECK (error IS NULL OR ended_by IS NOT NULL),
    FOREIGN KEY (session, lineage, conversation) REFERENCES sessions (id, lineage, conversation)
) STRICT;
CREATE INDEX turns_running ON turns (conversation, id) WHERE ended_at IS NULL;

CREATE TABLE processes (
    id            INTEGER PRIMARY KEY,
    -- OWN-20: the owner and every setting are there before anything runs.
    conversation  INTEGER NOT NULL REFERENCES conversations (id),
    session       INTEGER NOT NULL,
    lineage       INTEGER NOT NULL,
    origin        TEXT NOT NULL,
    window        INTEGER,
    delegation    INTEGER,
    turn          INTEGER,
    kind          TEXT NOT NULL CHECK (kind IN ('foreground', 'task', 'service')),
    command       TEXT NOT NULL,
    directory     TEXT NOT NULL,
    notify        INTEGER NOT NULL CHECK (notify IN (0, 1)),
    watch         TEXT NOT NULL,
    state         TEXT NOT NULL DEFAULT 'starting' CHECK (state IN ('starting', 'running', 'exited', 'lost', 'failed')),
    exit_code     INTEGER,
    signal        INTEGER,
    lost_reason   TEXT CHECK (lost_reason IN ('supervisor_gone', 'machine_restarted', 'folder_damaged', 'folder_missing')),
    failure       TEXT,
    created_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    output_total  INTEGER NOT NULL DEFAULT 0 CHECK (output_total >= 0),
    output_tail   BLOB NOT NULL DEFAULT x'',
    consumed      TEXT CHECK (consumed IN ('waited', 'read_to_end', 'agent_killed', 'person_killed', 'foreground')),
    scanned       INTEGER NOT NULL DEFAULT 0 CHECK (scanned >= 0),
    -- OWN-81, 83: the limiter of its watch patterns, and the lines that wait to be told.
    watch_window  INTEGER,
    watch_waiting INTEGER NOT NULL DEFAULT 0 CHECK (watch_waiting >= 0),
    watch_full    INTEGER NOT NULL DEFAULT 0 CHECK (watch_full >= 0),
    watch_told    INTEGER NOT NULL DEFAULT 0 CHECK (watch_told >= 0),
    watch_off     INTEGER NOT NULL DEFAULT 0 CHECK (watch_off IN (0, 1)),
    watch_lines   TEXT NOT NULL DEFAULT '[]',
    -- Whether its run folder, with all its output, is still there.
    kept          INTEGER NOT NULL DEFAULT 1 CHECK (kept IN (0, 1)),
    CHECK ((state IN ('starting', 'running')) = (ended_at IS NULL)),
    -- OWN-91: how it ended is known exactly when it exited, by a code or by a signal; unknown is a reason, never a 0.
    CHECK ((exit_code IS NOT NULL) + (signal IS NOT NULL) = (state = 'exited')),
    CHECK ((lost_reason IS NOT NULL) = (state = 'lost')),
    CHECK ((failure IS NOT NULL) = (state = 'failed'))
) STRICT;
CREATE INDEX processes_of_conversation ON processes (conversation, (ended_at IS NOT NULL), id DESC);
CREATE INDEX processes_kept ON processes (ended_at) WHERE kept = 1 AND ended_at IS NOT NULL;
CREATE INDEX processes_of_delegation ON processes (delegation, id) WHERE delegation IS NOT NULL;
CREATE INDEX processes_live ON processes (lineage, id) WHERE ended_at IS NULL;
-- The last four characters of an id, for people who type them.
CREATE INDEX processes_by_ending ON processes ((id & 1048575));

CREATE TABLE delegations (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    session      INTEGER NOT NULL,
    lineage      INTEGER NOT NULL,
    origin       TEXT NOT NULL,
    window       INTEGER,
    delegation   INTEGER,
    -- Its own history: a lineage of its own that remembers its parent (OWN-12).
    own_session  INTEGER NOT NULL REFERENCES sessions (id),
    own_lineage  INTEGER NOT NULL REFERENCES lineages (id),
    task         TEXT NOT NULL,
    state        TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'failed', 'interrupted')),
    result       TEXT,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    CHECK ((state = 'running') = (ended_at IS NULL)),
    CHECK (result IS NULL OR state <> 'running')
) STRICT;
CREATE INDEX delegations_of_conversation ON delegations (conversation, id);
CREATE INDEX delegations_running ON delegations (lineage, id) WHERE ended_at IS NULL;

CREATE TABLE notifications (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    process      INTEGER REFERENCES processes (id),
    delegation   INTEGER REFERENCES delegations (id),
    kind         TEXT NOT NULL CHECK (kind IN ('completed', 'matched', 'watch_off', 'delegation', 'lost')),
    sequence     INTEGER NOT NULL CHECK (sequence >= 0),
    state        TEXT NOT NULL DEFAULT 'pending'
                 CHECK (state IN ('pending', 'claimed', 'held', 'delivered', 'noticed', 'consumed', 'dropped')),
    reason       TEXT,
    content      TEXT NOT NULL,
    more         INTEGER NOT NULL DEFAULT 0 CHECK (more >= 0),
    held_since   INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    turn         INTEGER,
    session      INTEGER REFERENCES sessions (id),
    created_at   INTEGER NOT NULL,
    settled_at   INTEGER,
    CHECK ((process IS NULL) <> (delegation IS NULL)),
    CHECK ((kind = 'delegation') = (delegation IS NOT NULL)),
    CHECK ((state IN ('delivered', 'noticed', 'consumed', 'dropped')) = (settled_at IS NOT NULL)),
    CHECK (state NOT IN ('held', 'dropped') OR reason IS NOT NULL),
    CHECK (state <> 'claimed' OR turn IS NOT NULL),
    CHECK (state <> 'held' OR held_since IS NOT NULL),
    CHECK (settled_at IS NULL OR held_since IS NULL),
    -- OWN-65: delivered is what is in a session's history.
    CHECK (state <> 'delivered' OR session IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX notifications_of_process ON notifications (process, kind, sequence) WHERE process IS NOT NULL;
CREATE UNIQUE INDEX notifications_of_delegation ON notifications (delegation, kind, sequence) WHERE delegation IS NOT NULL;
CREATE INDEX notifications_open ON notifications (conversation, id) WHERE settled_at IS NULL;
CREATE INDEX notifications_of_conversation ON notifications (conversation, id);
CREATE INDEX notifications_by_ending ON notifications ((id & 1048575));

-- OWN-43: what was decided, and on which facts.
CREATE TABLE decisions (
    id           INTEGER PRIMARY KEY,
    notification INTEGER NOT NULL REFERENCES notifications (id),
    at           INTEGER NOT NULL,
    from_state   TEXT NOT NULL CHECK (from_state IN ('pending', 'claimed', 'held', 'delivered', 'noticed', 'consumed', 'dropped')),
    to_state     TEXT NOT NULL CHECK (to_state IN ('pending', 'claimed', 'held', 'delivered', 'noticed', 'consumed', 'dropped')),
    reason       TEXT,
    facts        TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_of_notification ON decisions (notification, id);

-- OWN-65: a notification enters a lineage's history at most once, whatever crashes.
CREATE TABLE history_entries (
    lineage      INTEGER NOT NULL REFERENCES lineages (id),
    notification INTEGER NOT NULL REFERENCES notifications (id),
    session      INTEGER NOT NULL REFERENCES sessions (id),
    at           INTEGER NOT NULL,
    PRIMARY KEY (lineage, notification)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    id               INTEGER PRIMARY KEY,
    conversation     INTEGER NOT NULL REFERENCES conversations (id),
    lineage          INTEGER REFERENCES lineages (id),
    turn             INTEGER,
    kind             TEXT NOT NULL CHECK (kind IN ('answer', 'reply', 'background', 'notice')),
    origin           TEXT NOT NULL,
    window           INTEGER,
    text             TEXT NOT NULL,
    state            TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sending', 'uncertain', 'sent', 'cancelled', 'dead')),
    attempt          INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    not_before       INTEGER NOT NULL,
    reason           TEXT,
    platform_message TEXT,
    created_at       INTEGER NOT NULL,
    settled_at       INTEGER,
    CHECK ((state IN ('sent', 'cancelled', 'dead')) = (settled_at IS NOT NULL)),
    CHECK (state NOT IN ('uncertain', 'cancelled', 'dead') OR reason IS NOT NULL),
    CHECK (state NOT IN ('sending', 'uncertain', 'sent') OR attempt > 0),
    CHECK (platform_message IS NULL OR state = 'sent')
) STRICT;
CREATE INDEX outbox_waiting ON outbox (conversation, id) WHERE settled_at IS NULL;
CREATE INDEX outbox_of_conversation ON outbox (conversation, id);
CREATE INDEX outbox_of_turn ON outbox (turn, id) WHERE turn IS NOT NULL;

CREATE TABLE windows (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    opened_at    INTEGER NOT NULL,
    active_at    INTEGER NOT NULL,
    closed_at    INTEGER
) STRICT;
CREATE INDEX windows_open ON windows (conversation, active_at) WHERE closed_at IS NULL;

-- Counts of what is settled. What is open is counted over the partial indexes above, which stay small. No trigger runs on an INSERT: it would
-- make SQLite look through every table that refers to the new row's.
CREATE TRIGGER notifications_settled AFTER UPDATE OF state ON notifications WHEN new.settled_at IS NOT NULL AND old.settled_at IS NULL BEGIN
    INSERT INTO tallies (name, count) VALUES ('notifications.' || new.state, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
-- OWN-42: a person took a drop back.
CREATE TRIGGER notifications_reopened AFTER UPDATE OF state ON notifications WHEN new.settled_at IS NULL AND old.settled_at IS NOT NULL BEGIN
    UPDATE tallies SET count = count - 1 WHERE name = 'notifications.' || old.state;
END;
-- What was told stays told.
CREATE TRIGGER notifications_told BEFORE UPDATE OF state ON notifications WHEN old.state IN ('delivered', 'noticed') BEGIN
    SELECT raise(ABORT, 'a notification that was told does not move');
END;
CREATE TRIGGER notifications_settle_once BEFORE UPDATE OF state ON notifications
WHEN old.settled_at IS NOT NULL AND new.settled_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'a settled notification moves only back to where it is open');
END;
CREATE TRIGGER outbox_settled AFTER UPDATE OF state ON outbox WHEN new.settled_at IS NOT NULL AND old.settled_at IS NULL BEGIN
    INSERT INTO tallies (name, count) VALUES ('outbox.' || new.state, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
-- What left, was cancelled or is dead stays so.
CREATE TRIGGER outbox_settled_for_good BEFORE UPDATE OF state ON outbox WHEN old.settled_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'a settled item does not move');
END;
-- OWN-13: the first end reason wins, and a boundary is never undone.
CREATE TRIGGER sessions_end_once BEFORE UPDATE OF ended_by, ended_at ON sessions WHEN old.ended_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'a session ends once');
END;
CREATE TRIGGER lineages_close_once BEFORE UPDATE OF closed_by, closed_at ON lineages WHEN old.closed_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'a lineage closes once');
END;
CREATE TRIGGER processes_end_once BEFORE UPDATE OF state ON processes WHEN old.ended_at IS NOT NULL BEGIN
    SELECT raise(ABORT, 'a process ends once');
END;
