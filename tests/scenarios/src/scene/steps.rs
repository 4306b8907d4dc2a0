//! The actions, one function each. A step is over when it is quiet again.

use homing_domain::ids::DelegationId;
use homing_domain::key::SessionKey;
use homing_ports::store::Queries as _;

use super::{Failure, Scene};
use crate::keys;
use crate::model::{
    AutoReset, Command, Compress, Delegate, Exit, Finish, GatewayIs, HowToEnd, Label, Message,
    Output, Platform, Spawn, Step, StoreIs, Tool, ToolOp, Window,
};
use crate::protocol::{Answer, Call, Request, Written};
use crate::steer::Order;

impl Scene {
    pub(super) async fn take(&mut self, number: usize, step: &Step) -> Result<(), Failure> {
        let done = match step {
            Step::Message(message) => return self.message(number, message).await,
            Step::Expect(expect) => return self.expect(expect).await,
            Step::Gateway(gateway) => return self.gateway(gateway.is).await,
            Step::Config(_) => Ok(()),
            Step::Release(release) => self
                .ask(Request::Release {
                    at: release.at.clone(),
                })
                .await
                .map(drop),
            Step::Command(command) => self.command(command),
            Step::Label(label) => self.label(label).await,
            Step::Spawn(spawn) => self.spawn(spawn).await,
            Step::Output(output) => self.output(output).await,
            Step::Exit(exit) => self.exit(exit).await,
            Step::Delegate(delegate) => self.delegate(delegate).await,
            Step::Finish(finish) => self.finish(finish).await,
            Step::Tool(tool) => self.tool(tool).await,
            Step::Compress(compress) => self.compress(compress).await,
            Step::AutoReset(reset) => self.auto_reset(reset).await,
            Step::Window(window) => self.window(window).await,
            Step::Platform(platform) => self.platform(platform).await,
            Step::Store(store) => self.fail_store(store.is).await,
            Step::Clock(clock) => self.advance(clock.advance).await,
        };
        done.map_err(expected)?;
        self.settle(None).await.map_err(expected)
    }

    async fn message(&mut self, number: usize, message: &Message) -> Result<(), Failure> {
        let text = message.text.clone().map_or_else(
            || format!("message of step {number}"),
            |text| self.filled(&text),
        );
        let held = message.hold.then(|| message.at.clone());
        if let Some(at) = held.clone() {
            self.ask(Request::Hold {
                at,
                text: text.clone(),
            })
            .await
            .map_err(expected)?;
        }
        self.write(&message.at, message.user.as_deref(), text)?;
        self.settle(held).await.map_err(expected)
    }

    fn command(&mut self, command: &Command) -> Result<(), Failure> {
        self.last_command = Some((command.at.clone(), self.platforms.mark()));
        self.write(
            &command.at,
            command.user.as_deref(),
            self.filled(&command.text),
        )
    }

    fn write(&self, at: &SessionKey, user: Option<&str>, text: String) -> Result<(), Failure> {
        let origin = keys::origin(at, user, self.plan.keys)?;
        self.platforms.post(&origin, &text)
    }

    async fn label(&mut self, label: &Label) -> Result<(), Failure> {
        let session = self.current_session(&label.at).await?;
        let session = session.ok_or_else(|| format!("a session at {}, seen none", label.at))?;
        self.sessions.insert(label.session.clone(), session);
        Ok(())
    }

    pub(super) async fn current_session(
        &self,
        at: &SessionKey,
    ) -> Result<Option<homing_domain::ids::SessionId>, Failure> {
        let row = self
            .store()
            .await?
            .conversation_by_key(at)
            .await
            .map_err(|error| format!("a store that answers, seen {error}"))?;
        Ok(row
            .and_then(|row| row.current)
            .map(|current| current.session))
    }

    async fn spawn(&mut self, spawn: &Spawn) -> Result<(), Failure> {
        let under = self.delegation(spawn.under.as_deref())?;
        let command = self
            .steering
            .command(&spawn.process)
            .map_err(|error| error.to_string())?;
        let window = spawn.window.as_deref().map(|label| self.window_id(label));
        let call = Call::Start {
            label: spawn.process.clone(),
            command,
            notify: spawn.notify,
            watch: spawn.watch.clone(),
            window,
        };
        match self
            .ask(Request::Tool {
                at: spawn.at.clone(),
                under,
                call,
            })
            .await?
        {
            Answer::Started(started) => {
                let written = Written {
                    process: started.process,
                    bytes: 0,
                    watched: !spawn.watch.is_empty(),
                };
                self.written.insert(spawn.process.clone(), written);
                self.processes.insert(spawn.process.clone(), started);
            }
            other => return Err(format!("{} started, seen {other:?}", spawn.process)),
        }
        self.steering.connected(&spawn.process).await
    }

    fn delegation(&self, label: Option<&str>) -> Result<Option<DelegationId>, Failure> {
        let Some(label) = label else { return Ok(None) };
        let found = self.delegations.get(label).copied();
        found
            .map(Some)
            .ok_or_else(|| format!("a sub-agent {label}, seen none"))
    }

    async fn delegate(&mut self, delegate: &Delegate) -> Result<(), Failure> {
        let under = self.delegation(delegate.under.as_deref())?;
        let window = delegate
            .window
            .as_deref()
            .map(|label| self.window_id(label));
        let call = Call::Delegate {
            task: format!("the task of {}", delegate.delegation),
            window,
        };
        let request = Request::Tool {
            at: delegate.at.clone(),
            under,
            call,
        };
        match self.ask(request).await? {
            Answer::Delegated(id) => {
                self.delegations.insert(delegate.delegation.clone(), id);
                Ok(())
            }
            other => Err(format!("{} started, seen {other:?}", delegate.delegation)),
        }
    }

    async fn finish(&mut self, finish: &Finish) -> Result<(), Failure> {
        let delegation = self.delegation(Some(&finish.delegation))?;
        let delegation = delegation.ok_or("a sub-agent, seen none")?;
        let result = finish.result.clone();
        self.ask(Request::Finish { delegation, result })
            .await
            .map(drop)
    }

    async fn output(&mut self, output: &Output) -> Result<(), Failure> {
        self.steering.write(&output.process, &output.text).await?;
        if let Some(written) = self.written.get_mut(&output.process) {
            written.bytes += output.text.len() as u64;
        }
        Ok(())
    }

    async fn exit(&mut self, exit: &Exit) -> Result<(), Failure> {
        let order = match exit.how {
            HowToEnd::Code(code) => Order::Exit(code),
            HowToEnd::Signal(signal) => Order::Signal(signal),
        };
        self.steering.end(&exit.process, order).await
    }

    async fn tool(&mut self, tool: &Tool) -> Result<(), Failure> {
        let process = tool
            .process
            .as_ref()
            .and_then(|label| self.processes.get(label))
            .map(|process| process.process);
        let call = match (tool.op, process) {
            (ToolOp::List, _) => Call::List,
            (ToolOp::Wait, Some(process)) => Call::Wait(process),
            (ToolOp::Log, Some(process)) => Call::Log(process),
            (ToolOp::Poll, Some(process)) => Call::Poll(process),
            (ToolOp::Kill, Some(process)) => Call::Kill(process),
            (ToolOp::Wait | ToolOp::Log | ToolOp::Poll | ToolOp::Kill, None) => {
                return Err("a process that was started, seen none".into());
            }
        };
        let said = self
            .ask(Request::Tool {
                at: tool.at.clone(),
                under: None,
                call,
            })
            .await?;
        tracing::debug!(?said, "a tool answered");
        Ok(())
    }

    async fn compress(&mut self, compress: &Compress) -> Result<(), Failure> {
        let request = Request::Compress {
            at: compress.at.clone(),
            times: compress.times,
        };
        self.ask(request)
            .await
            .map(drop)
            .map_err(|why| format!("{} compressed, seen {why}", compress.at))
    }

    async fn auto_reset(&mut self, reset: &AutoReset) -> Result<(), Failure> {
        let request = Request::AutoReset {
            at: reset.at.clone(),
            why: reset.why,
        };
        self.ask(request)
            .await
            .map(drop)
            .map_err(|why| format!("{} looked at, seen {why}", reset.at))
    }

    async fn window(&mut self, window: &Window) -> Result<(), Failure> {
        let request = match window {
            Window::Open { window, at } => Request::OpenWindow {
                window: self.window_id(window),
                at: (**at).clone(),
            },
            Window::Close { window } => Request::CloseWindow {
                window: self.window_id(window),
            },
            Window::Touch { window } => Request::TouchWindow {
                window: self.window_id(window),
            },
        };
        self.ask(request)
            .await
            .map(drop)
            .map_err(|why| format!("the window to obey, seen {why}"))
    }

    async fn platform(&mut self, platform: &Platform) -> Result<(), Failure> {
        self.platforms
            .change(platform, &self.plan)
            .await
            .map_err(|error| format!("{} changed, seen {error:#}", platform.name))
    }

    async fn fail_store(&mut self, is: StoreIs) -> Result<(), Failure> {
        self.store_fails = is == StoreIs::Failing;
        if self.gateway.is_none() {
            return Ok(());
        }
        self.ask(Request::StoreFails(self.store_fails))
            .await
            .map(drop)
    }

    async fn advance(&mut self, by: std::time::Duration) -> Result<(), Failure> {
        self.platforms.time_passes(by).await;
        if self.gateway.is_none() {
            self.clock_ahead += by;
            return Ok(());
        }
        let until = self.quiet(None);
        if let Answer::Clock { ahead } = self.ask(Request::Advance { by, until }).await? {
            self.clock_ahead = ahead;
        }
        Ok(())
    }

    async fn gateway(&mut self, is: GatewayIs) -> Result<(), Failure> {
        let changed = match is {
            GatewayIs::Started => self.start_gateway().await,
            GatewayIs::Rebooted => self.reboot().await,
            GatewayIs::Killed => match self.gateway.take() {
                Some(gateway) => gateway.kill().await,
                None => Ok(()),
            },
            GatewayIs::Stopped => match self.gateway.take() {
                Some(gateway) => gateway.stop().await,
                None => Ok(()),
            },
        };
        changed.map_err(|error| format!("expected the gateway {is:?}, seen {error:#}"))?;
        self.settle(None).await.map_err(expected)
    }
}

fn expected(why: Failure) -> Failure {
    if why.starts_with("expected") {
        why
    } else {
        format!("expected {why}")
    }
}
