//! Asynchronous events: the requests that wait, and what has happened.

use std::collections::{BTreeSet, VecDeque};

use super::Device;
use super::queue::Completion;
use crate::context::Context;
use crate::facts::command as facts;
use crate::nvme::bits;
use crate::nvme::status::Status;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    kind: u32,
    info: u32,
    log: u8,
}

/// Requests and events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Command identifiers of requests, oldest first.
    requests: VecDeque<u16>,
    pending: VecDeque<Event>,
    /// Types that were told and whose log was not read since.
    masked: BTreeSet<u32>,
}

impl Events {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn waiting(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn has(&self, id: u16) -> bool {
        self.requests.contains(&id)
    }

    /// Takes a request back.
    pub(super) fn abort(&mut self, id: u16) -> bool {
        let before = self.requests.len();
        self.requests.retain(|request| *request != id);
        self.requests.len() < before
    }
}

impl Device {
    /// An asynchronous event request was fetched; there is room for it.
    pub(super) fn request_event(&mut self, ctx: &mut Context<'_>, id: u16) {
        self.events.requests.push_back(id);
        self.tell(ctx);
    }

    /// Something happened. What is masked, or not asked for by the feature, is not told.
    pub(super) fn raise(&mut self, ctx: &mut Context<'_>, kind: u32, info: u32, log: u8) {
        let event = Event { kind, info, log };
        if !self.events.masked.contains(&kind) && !self.events.pending.contains(&event) {
            self.events.pending.push_back(event);
            self.tell(ctx);
        }
    }

    fn tell(&mut self, ctx: &mut Context<'_>) {
        while let Some(position) =
            self.events.pending.iter().position(|event| !self.events.masked.contains(&event.kind))
        {
            let Some(id) = self.events.requests.pop_front() else { return };
            let Some(event) = self.events.pending.remove(position) else { return };
            self.events.masked.insert(event.kind);
            let result = facts::EVENT_TYPE.put32(event.kind)
                | facts::EVENT_INFO.put32(event.info)
                | facts::EVENT_LOG.put32(event.log.into());
            self.complete(ctx, Completion { queue: 0, id, status: Status::SUCCESS, result });
        }
    }

    /// A log was read without RAE: events of its type may be told again.
    pub(super) fn log_was_read(&mut self, ctx: &mut Context<'_>, log: u8) {
        let kind = match log {
            facts::LOG_ERRORS => facts::EVENT_ERROR,
            facts::LOG_HEALTH => facts::EVENT_HEALTH,
            facts::LOG_CHANGED_NAMESPACES => facts::EVENT_NOTICE,
            _ => return,
        };
        self.events.masked.remove(&kind);
        self.events.pending.retain(|event| event.log != log);
        self.tell(ctx);
    }

    /// The temperature changed, in kelvin: at the threshold or above, that is an event if the host asked for it.
    pub(super) fn set_temperature(&mut self, ctx: &mut Context<'_>, kelvin: u16) {
        self.temperature = kelvin;
        if self.is_hot() && facts::EVENTS_TEMPERATURE.of32(self.features.get(facts::FEATURE_EVENTS)) == 1 {
            self.raise(ctx, facts::EVENT_HEALTH, facts::HEALTH_THRESHOLD, facts::LOG_HEALTH);
        }
    }

    pub(super) fn is_hot(&self) -> bool {
        let threshold = facts::TEMPERATURE_THRESHOLD.of32(self.features.get(facts::FEATURE_TEMPERATURE));
        self.temperature >= bits::low16(threshold.into())
    }

    /// The attributes of a namespace changed: it goes to the log of changed namespaces, and is an event if the host asked for it.
    pub(super) fn namespace_changed(&mut self, ctx: &mut Context<'_>, id: u32) {
        self.changed_namespaces.insert(id);
        if facts::EVENTS_NAMESPACES.of32(self.features.get(facts::FEATURE_EVENTS)) == 1 {
            self.raise(ctx, facts::EVENT_NOTICE, facts::NOTICE_NAMESPACES, facts::LOG_CHANGED_NAMESPACES);
        }
    }
}
