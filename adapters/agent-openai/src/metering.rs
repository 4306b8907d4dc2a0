//! What a request used: as its server counted, or by estimate where it did not say.
//!
//! **Invariant:** every answer that began is counted once: whole, broken off, begun anew, or left in the middle.

use homing_ports::agent::UsageMeter;
use homing_ports::store;

use super::agent::Model;
use super::client::{
    ChatRequest, Completion, Event, Usage, estimate_message, estimate_request, estimate_tokens,
};
use super::room;

pub(crate) struct Metering<'a> {
    meter: &'a UsageMeter,
    model: &'a Model,
    request: &'a ChatRequest,
    /// Of the answer that is coming.
    heard: String,
}

impl<'a> Metering<'a> {
    pub fn of(meter: &'a UsageMeter, model: &'a Model, request: &'a ChatRequest) -> Self {
        Self {
            meter,
            model,
            request,
            heard: String::new(),
        }
    }

    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Text(text) | Event::Reasoning(text) => self.heard.push_str(text),
            Event::BrokenOff { usage } => {
                self.add(*usage, |metering| estimate_tokens(&metering.heard));
            }
            // What failed in the middle otherwise was begun as well.
            Event::Restarted => self.left(),
            Event::ToolCallStarted { .. } | Event::Retrying { .. } => {}
        }
    }

    /// And what the server's count says of this model's way to count.
    pub fn whole(&mut self, completion: &Completion) {
        self.add(completion.usage, |_| {
            completion.message().as_ref().map_or(0, estimate_message)
        });
        if let Some(usage) = completion.usage {
            let estimated = estimate_request(self.request);
            let mut known = self.model.known();
            known.calibration.learn(estimated, usage.prompt);
        }
    }

    /// Nobody waits for the rest: the server would have said what it took only at the end of it.
    pub fn left(&mut self) {
        if !self.heard.is_empty() {
            self.add(None, |metering| estimate_tokens(&metering.heard));
        }
    }

    fn add(&mut self, counted: Option<Usage>, written: impl FnOnce(&Self) -> u64) {
        let usage = counted.unwrap_or_else(|| Usage {
            prompt: room::tokens(self.request, &self.model.known()),
            completion: written(self),
            ..Usage::default()
        });
        self.heard.clear();
        self.meter.add(store::Usage {
            requests: 1,
            prompt_tokens: usage.prompt,
            cached_tokens: usage.cached.unwrap_or(0),
            completion_tokens: usage.completion,
        });
    }
}
