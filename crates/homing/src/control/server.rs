//! The gateway's end of the control socket.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use homing_domain::ids::ProcessId;
use homing_gateway::Gateway;
use homing_ports::agent::{ProcessView, StartCall, ToolAnswer, ToolCall, ToolError};
use homing_ports::processes::KillOutcome;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::token::{Bearer, Secret};
use super::{Action, Answer, LINE_LIMIT, Listed, Request};
use crate::data;

/// Listens until `shutdown`. The folder's lock is held, so a socket that is there is a dead gateway's.
pub fn listen(
    folder: &Path,
    secret: Secret,
    gateway: Gateway,
    shutdown: CancellationToken,
) -> anyhow::Result<JoinHandle<()>> {
    let path = data::control_path(folder);
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(error).with_context(|| format!("removing the old {}", path.display()));
        }
    }
    let listener = UnixListener::bind(&path)
        .with_context(|| format!("making the control socket {} (its path may have at most 107 bytes; use a shorter data folder)", path.display()))?;
    Ok(tokio::spawn(async move {
        while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _)) => {
                    let talk = talk(stream, secret.clone(), gateway.clone());
                    let shutdown = shutdown.clone();
                    tokio::spawn(async move {
                        if let Some(Err(error)) = shutdown.run_until_cancelled(talk).await {
                            tracing::debug!(%error, "a control connection broke off");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a control connection was not accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            }
        }
    }))
}

async fn talk(mut stream: UnixStream, secret: Secret, gateway: Gateway) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut reader = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let taken = (&mut reader)
            .take(LINE_LIMIT)
            .read_until(b'\n', &mut line)
            .await?;
        if taken == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let answer = match whole {
            true => answer(&line, &secret, &gateway).await,
            false => Answer::Error(format!(
                "a request is one line of at most {LINE_LIMIT} bytes"
            )),
        };
        let mut text = serde_json::to_vec(&answer).map_err(std::io::Error::other)?;
        text.push(b'\n');
        write.write_all(&text).await?;
        if !whole {
            return Ok(());
        }
    }
}

async fn answer(line: &[u8], secret: &Secret, gateway: &Gateway) -> Answer {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return Answer::Error(format!("not a request: {error}")),
    };
    let Some(bearer) = secret.bearer(&request.token) else {
        return Answer::Error(
            "the token is not valid here; programs find theirs in HOMING_TOKEN".into(),
        );
    };
    match act(request.action, bearer, gateway).await {
        Ok(answer) => answer,
        Err(error) => Answer::Error(error.to_string()),
    }
}

async fn act(action: Action, bearer: Bearer, gateway: &Gateway) -> Result<Answer, ToolError> {
    match (action, bearer) {
        (Action::Kill { process }, Bearer::Operator) => {
            let process = parse(&process)?;
            Ok(match gateway.kill(process).await? {
                KillOutcome::Asked => Answer::Asked {
                    process: process.to_string(),
                },
                KillOutcome::AlreadyEnded => Answer::AlreadyEnded {
                    process: process.to_string(),
                },
            })
        }
        (Action::Kill { process }, Bearer::Process(own)) => {
            let process = parse(&process)?;
            tell(
                gateway
                    .tools_of(own)
                    .await?
                    .call(ToolCall::Kill { process })
                    .await?,
            )
        }
        (
            Action::Start {
                command,
                notify,
                watch,
            },
            Bearer::Process(own),
        ) => {
            let call = StartCall {
                command,
                notify,
                watch,
                ..StartCall::default()
            };
            tell(
                gateway
                    .tools_of(own)
                    .await?
                    .call(ToolCall::Start(call))
                    .await?,
            )
        }
        (Action::List, Bearer::Process(own)) => {
            tell(gateway.tools_of(own).await?.call(ToolCall::List).await?)
        }
        (Action::Start { .. } | Action::List, Bearer::Operator) => Err(ToolError::Refused(
            "only a program that Homing started can do that, with its own HOMING_TOKEN".into(),
        )),
    }
}

fn parse(process: &str) -> Result<ProcessId, ToolError> {
    process
        .parse()
        .map_err(|error: homing_domain::ids::IdError| ToolError::Refused(error.to_string()))
}

fn tell(answer: ToolAnswer) -> Result<Answer, ToolError> {
    match answer {
        ToolAnswer::Started { process } => Ok(Answer::Started {
            process: process.to_string(),
        }),
        ToolAnswer::KillAsked { process } => Ok(Answer::Asked {
            process: process.to_string(),
        }),
        ToolAnswer::AlreadyEnded(view) => Ok(Answer::AlreadyEnded {
            process: view.process.to_string(),
        }),
        ToolAnswer::List(views) => Ok(Answer::Processes(views.iter().map(listed).collect())),
        other => Err(ToolError::Refused(format!(
            "an answer that does not fit: {other:?}"
        ))),
    }
}

fn listed(view: &ProcessView) -> Listed {
    Listed {
        process: view.process.to_string(),
        state: view.state.name().to_owned(),
        ending: view.ending.map(|ending| ending.to_string()),
        command: view.command.clone(),
    }
}
