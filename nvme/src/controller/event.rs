//! Asynchronous events: what a controller tells unasked.

use core::fmt;

use hal::Platform;
use heapless::Deque;

use super::Controller;
use crate::error::CommandError;
use crate::spec::command::{SubmissionEntry, admin, feature};
use crate::spec::log;
use crate::transport::{Queue, Retired, Transport};

/// Requests that are kept with the controller.
const REQUESTS: u32 = 4;
/// Feature 0x0b, bits 4:0: an event for each critical warning of the health log.
const HEALTH_WARNINGS: u32 = 0x1f;
/// Feature 0x0b and OAES, bit 8: an event when a namespace changed.
const NAMESPACE_CHANGED: u32 = 1 << 8;
/// Events that wait for the owner; more are counted and dropped, since the logs have them too.
const KEPT: usize = 8;

/// Something that a controller told of unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// 0 an error, 1 SMART and health, 2 a notice, 6 of the command set, 7 of the vendor.
    pub kind: u8,
    /// What it is, by kind.
    pub information: u8,
    /// The log page that tells more.
    pub log: u8,
}

impl Event {
    const fn from_result(result: u32) -> Self {
        Self { kind: (result & 0b111) as u8, information: (result >> 8 & 0xff) as u8, log: (result >> 16 & 0xff) as u8 }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, information, log } = self;
        let what = match (kind, information) {
            (0, 0) => "error: write to an invalid doorbell register",
            (0, 1) => "error: invalid doorbell value",
            (0, 2) => "error: diagnostic failure",
            (0, 3) => "error: persistent internal error",
            (0, 4) => "error: transient internal error",
            (0, 5) => "error: firmware image load",
            (0, _) => "error",
            (1, 0) => "health: reliability is degraded",
            (1, 1) => "health: temperature",
            (1, 2) => "health: spare below its threshold",
            (1, _) => "health",
            (2, 0) => "notice: a namespace changed",
            (2, 1) => "notice: firmware activation starts",
            (2, _) => "notice",
            (7, _) => "vendor specific",
            _ => "of another kind",
        };
        write!(f, "{what} (type {kind}, information {information:#04x}, log page {log:#04x})")
    }
}

/// The requests that the controller has, and what came of them.
pub(super) struct Events {
    /// Tags of requests that the controller has.
    outstanding: u64,
    /// Tags whose request came back and has to be sent again.
    returned: u64,
    waiting: Deque<Event, KEPT>,
    total: u64,
}

impl Events {
    pub(super) const fn new() -> Self {
        Self { outstanding: 0, returned: 0, waiting: Deque::new(), total: 0 }
    }

    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// A request came back.
    pub(super) fn happened(&mut self, retired: Retired) {
        let bit = 1 << (retired.tag & 63);
        self.outstanding &= !bit;
        // One that failed is not sent again: it was too many, or the controller has no events.
        if retired.status.is_success() {
            self.returned |= bit;
            self.total += 1;
            let _ = self.waiting.push_back(Event::from_result(retired.result));
        }
    }
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// The next event that the controller told of, if there is one; never waits for one. Its log page is read before, which is
    /// what lets the controller tell of the next event of that kind.
    ///
    /// ANS tells of none.
    ///
    /// # Errors
    /// [`CommandError`] of reading the log page; the event is lost with it.
    pub fn next_event(&mut self) -> Result<Option<Event>, CommandError> {
        if self.events.outstanding != 0 {
            let outstanding = self.events.outstanding;
            let (transport, events) = (&mut self.transport, &mut self.events);
            let batch = transport.reap(&self.window, Queue::Admin, outstanding, |retired| events.happened(retired));
            self.counters.unknown_completions += u64::from(batch.unknown);
        }
        let Some(event) = self.events.waiting.pop_front() else { return Ok(None) };
        self.counters.events = self.events.total;
        // A log page of the vendor's may be of any length, and reading it is the vendor's own affair.
        let read = if event.log != 0 && event.log < 0x80 {
            let page = self.page.address();
            self.admin(SubmissionEntry::log_page(event.log, u32::MAX, log::HEALTH_SIZE, false, page))
        } else {
            Ok(0)
        };
        // Whatever came of that: without a request the controller could never tell of anything again.
        self.request_events();
        read.map(|_| Some(event))
    }

    /// Sends requests for events: at first as many as the controller takes, later those that came back.
    pub(super) fn request_events(&mut self) {
        if self.admin_lost {
            return;
        }
        for tag in 0..64 {
            if self.events.returned >> tag & 1 != 0 {
                let entry = SubmissionEntry { opcode: admin::ASYNCHRONOUS_EVENT_REQUEST, ..SubmissionEntry::default() };
                self.transport.place(&self.window, Queue::Admin, tag, entry);
                self.events.outstanding |= 1 << tag;
            }
        }
        self.events.returned = 0;
        self.transport.ring(&self.window, Queue::Admin);
    }

    /// The controller was enabled anew: it has no requests. Gives it as many as it takes.
    pub(super) fn begin_events(&mut self) {
        (self.events.outstanding, self.events.returned) = (0, 0);
        if !T::ABORTS_AND_EVENTS {
            return;
        }
        self.choose_events();
        let tags = self.transport.tags(Queue::Admin);
        // The lowest tag is that of commands which are awaited.
        let mut free = tags & tags.wrapping_sub(1);
        for _ in 0..u32::from(self.identity.event_requests).min(REQUESTS) {
            let tag = free & free.wrapping_neg();
            free ^= tag;
            self.events.returned |= tag;
        }
        self.request_events();
    }

    /// Asks for what a controller leaves out by itself: warnings of its health, and word of a namespace that changed. One that
    /// does not know them tells of errors all the same.
    fn choose_events(&mut self) {
        let notices = self.identity.optional_events & NAMESPACE_CHANGED;
        let entry = SubmissionEntry::set_feature(feature::EVENTS, HEALTH_WARNINGS | notices, false);
        if let Err(error) = self.admin(entry) {
            hal::warn!("the controller does not take the choice of events: {}", hal::log::Shown(&error));
        }
    }

    /// The controller was reset and has no requests.
    pub(super) fn forget_events(&mut self) {
        (self.events.outstanding, self.events.returned) = (0, 0);
    }
}
