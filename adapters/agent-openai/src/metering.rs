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
    /// Who is asked: a fallback counts in its own way.
    asked: String,
    /// Of the answer that is coming.
    heard: String,
    /// It has begun, if only with a call.
    begun: bool,
}

impl<'a> Metering<'a> {
    pub fn of(meter: &'a UsageMeter, model: &'a Model, request: &'a ChatRequest) -> Self {
        Self {
            meter,
            model,
            request,
            asked: model.name.clone(),
            heard: String::new(),
            begun: false,
        }
    }

    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Text(text) | Event::Reasoning(text) | Event::ToolCallStarted { name: text } => {
                self.begun = true;
                self.heard.push_str(text);
            }
            Event::BrokenOff { usage } => {
                self.add(*usage, |metering| estimate_tokens(&metering.heard));
            }
            // What failed in the middle otherwise was begun as well.
            Event::Restarted => self.left(),
            Event::Retrying { model, .. } => self.asked.clone_from(model),
        }
    }

    /// And what the server's count says of this model's way to count.
    pub fn whole(&mut self, completion: &Completion) {
        self.add(completion.usage, |_| {
            completion.message().as_ref().map_or(0, estimate_message)
        });
        if let Some(usage) = completion.usage {
            let estimated = estimate_request(self.request);
            if let Some(mut known) = self.model.known_of(&self.asked) {
                known.calibration.learn(estimated, usage.prompt);
            }
        }
    }

    /// Nobody waits for the rest: the server would have said what it took only at the end of it.
    pub fn left(&mut self) {
        if self.begun {
            self.add(None, |metering| estimate_tokens(&metering.heard));
        }
    }

    fn prompt(&self) -> u64 {
        let known = self.model.known_of(&self.asked);
        let known = known.map(|known| *known).unwrap_or_default();
        room::tokens(self.request, &known)
    }

    fn add(&mut self, counted: Option<Usage>, written: impl FnOnce(&Self) -> u64) {
        let usage = counted.unwrap_or_else(|| Usage {
            prompt: self.prompt(),
            completion: written(self),
            ..Usage::default()
        });
        self.heard.clear();
        self.begun = false;
        self.meter.add(store::Usage {
            requests: 1,
            prompt_tokens: usage.prompt,
            cached_tokens: usage.cached.unwrap_or(0),
            completion_tokens: usage.completion,
        });
    }
}
