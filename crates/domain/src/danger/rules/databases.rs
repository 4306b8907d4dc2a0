//! Databases: statements in arguments and in what is piped in.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Rule;
use super::super::call::{Call, Findings};
use super::super::input::Reads;
use super::super::shell::HOLE;

const SQL: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "clickhouse-client",
    "clickhouse",
    "cockroach",
    "duckdb",
    "cqlsh",
    "isql",
    "sqlplus",
    "usql",
    "pgcli",
    "mycli",
    "litecli",
    "mysqladmin",
    "bq",
    "snowsql",
];

static LOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) \b drop \s+ (?: if \s+ exists \s+ )? (?: table | database | schema | view | materialized | index | user | role | column | sequence | function | trigger | type | keyspace | owned | tablespace | extension ) \b
        | \b truncate \b | \b alter \s+ table \b .* \b drop \b | \b drop \s+ [a-z_]+ ; | \b (?: grant | revoke ) \s+ \w+",
    )
    .expect("the pattern is a constant of this file, and every test compiles it")
});
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)\bdelete\s+from\b|\bupdate\s+\S+\s+set\b")
        .expect("the pattern is a constant of this file, and every test compiles it")
});
static SHELL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?im)^\s*\.(?:shell|system)\b|\\!|\bsystem\s+\S|\bto\s+program\b|\bxp_cmdshell\b|\binto\s+outfile\b|load_extension|\bpg_read_file\b"#)
        .expect("the pattern is a constant of this file, and every test compiles it")
});
static COMMENTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)/\*.*?\*/|--[^\n]*")
        .expect("the pattern is a constant of this file, and every test compiles it")
});

const LOST: &str = "Deletes data or tables of a database.";

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    match call.name {
        name if SQL.contains(&name) => client(call, findings),
        "dropdb" | "dropuser" | "mysqldrop" => findings.add(Rule::Database, LOST),
        "redis-cli" | "valkey-cli" | "keydb-cli" => {
            findings.reads(call.input, Reads::Keys);
            keys(&statements(call), findings);
        }
        "mongo" | "mongosh" => {
            findings.reads(call.input, Reads::Documents);
            documents(&statements(call), findings);
        }
        "pg_restore" => {
            findings.add_if(call.short('c') || call.long("clean"), Rule::Database, LOST)
        }
        "rails" | "rake" | "mix" | "artisan" | "prisma" | "php" | "diesel" | "sqlx" | "alembic" => {
            let drops = call.texts().any(|text| {
                matches!(
                    text,
                    "db:drop"
                        | "db:reset"
                        | "ecto.drop"
                        | "ecto.reset"
                        | "migrate:fresh"
                        | "migrate:reset"
                        | "db:wipe"
                        | "db:truncate_all"
                ) || text == "reset" && matches!(call.name, "prisma" | "diesel")
            });
            findings.add_if(
                drops
                    || call.name == "sqlx" && call.has("drop")
                    || call.name == "alembic" && call.has("base"),
                Rule::Database,
                LOST,
            );
        }
        _ => {}
    }
}

/// Arguments, the values that are attached to options, and what is piped in.
fn statements(call: &Call<'_>) -> String {
    let mut texts: Vec<&str> = call.texts().collect();
    // To SQL, `--name=value` is a comment as a whole.
    let long = call.texts().filter(|text| text.starts_with("--"));
    texts.extend(long.filter_map(|text| Some(text.split_once('=')?.1)));
    texts.extend(short_statements(call));
    texts.extend(call.input.text.as_deref());
    texts.join("\n")
}

/// The values of the short option that takes a statement.
fn short_statements<'a>(call: &Call<'a>) -> Vec<&'a str> {
    match call.name {
        "mysql" | "mariadb" | "mycli" | "cqlsh" | "cockroach" => call.short_values('e', "ehPupDSk"),
        "sqlcmd" | "clickhouse" | "clickhouse-client" | "snowsql" => {
            let mut statements = call.short_values('q', "qhudP");
            statements.extend(call.short_values('Q', "QSUPd"));
            statements
        }
        _ => call.short_values('c', "cdfhLopPRTUv"),
    }
}

fn client(call: &Call<'_>, findings: &mut Findings) {
    findings.reads(call.input, Reads::Sql);
    sql(&statements(call), findings);
    findings.add_if(
        call.name == "mysqladmin" && call.has("drop"),
        Rule::Database,
        LOST,
    );
    let unknown = call
        .values(&["-c", "-e", "--command", "--execute", "-q", "--query"])
        .into_iter()
        .chain(short_statements(call))
        .any(|statement| statement.starts_with(HOLE));
    findings.add_if(
        unknown,
        Rule::HiddenCode,
        "The database gets statements that are only known when it runs.",
    );
}

/// Statements, and what clients take between them.
pub fn sql(text: &str, findings: &mut Findings) {
    // With and without comments: in some dialects there is code in them.
    let bare = COMMENTS.replace_all(text, " ");
    let lost = [text, &bare].iter().any(|text| LOSES.is_match(text))
        || bare.split(';').any(is_without_condition);
    findings.add_if(lost, Rule::Database, LOST);
    findings.add_if(
        SHELL.is_match(text),
        Rule::HiddenCode,
        "Lets the database run commands, or write files.",
    );
}

/// Changes all rows of a table.
fn is_without_condition(statement: &str) -> bool {
    let always = |lower: &str| {
        lower.contains("where 1=1") || lower.contains("where true") || lower.contains("where 1 = 1")
    };
    let lower = statement.to_ascii_lowercase();
    WHOLE.is_match(statement) && (!lower.contains("where") || always(&lower))
}

/// Commands of a store of keys.
pub fn keys(text: &str, findings: &mut Findings) {
    let text = text.to_ascii_lowercase();
    let lost = text.split_whitespace().any(|word| {
        matches!(
            word,
            "flushall"
                | "flushdb"
                | "shutdown"
                | "debug"
                | "config"
                | "replicaof"
                | "slaveof"
                | "eval"
        )
    });
    findings.add_if(lost, Rule::Database, LOST);
}

/// Calls of a store of documents.
pub fn documents(text: &str, findings: &mut Findings) {
    let text = text.to_ascii_lowercase();
    let lost = [
        "dropdatabase",
        ".drop(",
        "deletemany({})",
        "deletemany( {} )",
        ".remove({})",
        ".remove()",
        "dropindexes",
        "dropuser",
        "shutdownserver",
    ]
    .iter()
    .any(|call| text.contains(call));
    findings.add_if(lost, Rule::Database, LOST);
}
