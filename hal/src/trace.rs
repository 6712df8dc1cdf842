//! A window that records every access.

#[cfg(test)]
mod tests;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use spin::Mutex;

use crate::Mmio;

/// Which way a value went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// One access to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The place among all accesses of one [`Recorder`], from zero. A gap is an event that was lost.
    pub sequence: u64,
    /// The window's name.
    pub window: &'static str,
    /// Bytes from the window's start.
    pub offset: usize,
    /// Bytes accessed: 4 or 8.
    pub width: u8,
    /// Which way.
    pub direction: Direction,
    /// What was read or written.
    pub value: u64,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, digits) = (if self.direction == Direction::Read { 'R' } else { 'W' }, usize::from(self.width) * 2);
        let Self { sequence, window, offset, width, value, .. } = self;
        write!(f, "{sequence} {letter}{width} {window}+{offset:#07x} {value:#0digits$x}", digits = digits + 2)
    }
}

/// Where events go.
pub trait Sink {
    /// Takes one event, and tells how many events (this one or older ones) were lost by it.
    fn record(&self, event: Event) -> u64;
}

/// Numbers the accesses of any number of windows and counts the lost ones.
#[derive(Debug, Default)]
pub struct Recorder<S> {
    sink: S,
    next: AtomicU64,
    dropped: AtomicU64,
}

impl<S: Sink> Recorder<S> {
    /// A recorder that has seen nothing.
    pub const fn new(sink: S) -> Self {
        Self { sink, next: AtomicU64::new(0), dropped: AtomicU64::new(0) }
    }

    /// Where the events went.
    pub const fn sink(&self) -> &S {
        &self.sink
    }

    /// How many accesses were seen. A reader that waits for events and one that is dead look the same; this tells them
    /// apart.
    pub fn seen(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// How many events the sink lost. A record with any lost is no evidence for what did not happen.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn record(&self, window: &'static str, offset: usize, width: u8, direction: Direction, value: u64) {
        let sequence = self.next.fetch_add(1, Ordering::Relaxed);
        let lost = self.sink.record(Event { sequence, window, offset, width, direction, value });
        self.dropped.fetch_add(lost, Ordering::Relaxed);
    }
}

/// A window whose every access is recorded; two windows with one recorder share its numbering.
#[derive(Debug)]
pub struct Trace<'r, B, S> {
    window: B,
    name: &'static str,
    recorder: &'r Recorder<S>,
}

impl<'r, B: Mmio, S: Sink> Trace<'r, B, S> {
    /// Records what is done to `window` under `name`.
    pub const fn new(window: B, name: &'static str, recorder: &'r Recorder<S>) -> Self {
        Self { window, name, recorder }
    }

    /// The window itself, no longer recorded.
    pub fn into_inner(self) -> B {
        self.window
    }
}

impl<B: Mmio, S: Sink> Mmio for Trace<'_, B, S> {
    fn read32(&self, offset: usize) -> u32 {
        let value = self.window.read32(offset);
        self.recorder.record(self.name, offset, 4, Direction::Read, value.into());
        value
    }

    // A write is recorded before it is made: if it hangs the machine, the record's last line is the culprit.
    fn write32(&self, offset: usize, value: u32) {
        self.recorder.record(self.name, offset, 4, Direction::Write, value.into());
        self.window.write32(offset, value);
    }

    fn read64(&self, offset: usize) -> u64 {
        let value = self.window.read64(offset);
        self.recorder.record(self.name, offset, 8, Direction::Read, value);
        value
    }

    fn write64(&self, offset: usize, value: u64) {
        self.recorder.record(self.name, offset, 8, Direction::Write, value);
        self.window.write64(offset, value);
    }
}

/// A [`Sink`] that keeps the latest `N` events, at least one: the flight recorder of a machine without a console.
#[derive(Debug)]
pub struct Ring<const N: usize> {
    events: Mutex<heapless::Deque<Event, N>>,
}

impl<const N: usize> Ring<N> {
    /// An empty ring.
    pub const fn new() -> Self {
        Self { events: Mutex::new(heapless::Deque::new()) }
    }

    /// Takes the oldest event out.
    pub fn take(&self) -> Option<Event> {
        self.events.lock().pop_front()
    }
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Sink for Ring<N> {
    fn record(&self, event: Event) -> u64 {
        let mut events = self.events.lock();
        let older = if events.is_full() { u64::from(events.pop_front().is_some()) } else { 0 };
        older + u64::from(events.push_back(event).is_err())
    }
}
