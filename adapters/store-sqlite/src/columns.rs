//! The columns of each table in the order `rows` takes them, each behind an alias such as `"p."`.

macro_rules! list {
    ($prefix:literal; $first:ident $(, $rest:ident)*) => {
        concat!($prefix, stringify!($first) $(, ", ", $prefix, stringify!($rest))*)
    };
}
macro_rules! conversation {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, key, origin, session, lineage, generation, model, created_at, active_at) };
}
/// Without the count of messages, which is not a column.
macro_rules! session {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, lineage, continues, parent, title, summary, kept_from, started_at, ended_by, ended_at)
    };
}
macro_rules! lineage {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, conversation, tip, closed_by, closed_at) };
}
macro_rules! message {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, session, turn, role, author, text, data, at) };
}
macro_rules! inbound {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, conversation, origin, author, text, window, turn, received_at, attempts, quoted, attachments, together) };
}
macro_rules! turn {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, conversation, session, lineage, kind, tools, preview, started_at) };
}
macro_rules! process {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, session, lineage, origin, window, delegation, kind, command, directory, notify, watch, state,
            exit_code, signal, lost_reason, failure, created_at, ended_at, output_total, output_tail, consumed, scanned, watch_window,
            watch_waiting, watch_full, watch_told, watch_off, watch_lines)
    };
}
macro_rules! delegation {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, session, lineage, origin, window, delegation, own_session, own_lineage, task, batch, state, result, created_at, ended_at)
    };
}
macro_rules! notification {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, process, delegation, kind, sequence, state, reason, content, more, held_since, attempts, turn,
            session, created_at, settled_at)
    };
}
macro_rules! decision {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, at, from_state, to_state, reason, facts) };
}
macro_rules! outbox {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, lineage, turn, kind, origin, window, text, extras, state, attempt, not_before, reason,
            platform_message, created_at, settled_at)
    };
}
macro_rules! approval {
    ($prefix:literal) => {
        $crate::columns::list!($prefix; id, conversation, session, lineage, turn, delegation, person, command, why, state, created_at, expires_at, settled_at)
    };
}
macro_rules! window {
    ($prefix:literal) => { $crate::columns::list!($prefix; id, conversation, opened_at, active_at, closed_at) };
}
pub(crate) use {
    approval, conversation, decision, delegation, inbound, lineage, list, message, notification,
    outbox, process, session, turn, window,
};
