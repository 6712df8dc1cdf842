//! The device's half of shadow doorbells: pure functions over shared words.
//!
//! The controller model runs them over its memory, and a proof runs the very same functions over the words of a model checker,
//! against the host's half. Each is one step of the algorithm of Doorbell Buffer Config; [`wake`] and [`room`] are its two
//! loops. A [`Variant`] leaves out what a correct device may not leave out, so that a proof can show that this is found.

/// The two pages, seen from the device, as words of 32 bits at an offset in bytes.
///
/// The host's half has its own view of the same words. The device never stores to the shadow page and never loads from that of
/// the event indices.
pub trait SharedWords {
    /// Loads the word at `offset` of the shadow page.
    fn load(&mut self, offset: u64) -> u32;
    /// Stores the word at `offset` of the page of event indices.
    fn store(&mut self, offset: u64, value: u32);
    /// Keeps later loads behind earlier stores.
    fn full_barrier(&mut self);
}

/// What serves a submission queue whose tail is a shadow doorbell.
pub trait Server: SharedWords {
    /// Takes the queue's entries up to `tail`; false if it had to stop before, in which case it wakes itself once it can go on.
    fn process(&mut self, tail: u16) -> bool;
}

/// One entry of the pages, and the queue that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its offset in both pages, in bytes.
    pub offset: u64,
    /// The queue's entries; values are below that.
    pub size: u16,
}

/// What the device does with the event index of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventIndex {
    /// Sets it before it sleeps: to the tail it has reached, or to the head it knows.
    #[default]
    Kept,
    /// Never touches it. A device that sleeps like that loses doorbells.
    Never,
    /// Sets it to all ones, as a device that polls does.
    AllOnes,
}

/// How the algorithm is followed; the default is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Whether the full barrier between the event index and the second look is there.
    pub barrier: bool,
    /// What becomes of the event index.
    pub event_index: EventIndex,
}

impl Default for Variant {
    fn default() -> Self {
        Self { barrier: true, event_index: EventIndex::Kept }
    }
}

/// A shadow doorbell that holds what no queue of that size can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidValue {
    /// The word.
    pub value: u32,
}

/// How a device leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is taken, and the next doorbell will ring.
    Asleep,
    /// It had to stop; it wakes itself.
    Stopped,
    /// The host kept adding while it looked; the device has to wake itself, as a host may do so for ever.
    Busy,
}

/// What the second look says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing new: sleep.
    Sleep,
    /// The tail has moved on.
    GoOn(u16),
}

/// How often one [`wake`] takes what was added while it looked.
pub const ROUNDS: u32 = 3;

/// Step 1: the tail, if it can be one.
///
/// # Errors
/// [`InvalidValue`] for a word that is no index of the queue; its upper half counts too.
pub fn look(words: &mut impl SharedWords, entry: Entry) -> Result<u16, InvalidValue> {
    let value = words.load(entry.offset);
    u16::try_from(value).ok().filter(|tail| *tail < entry.size).ok_or(InvalidValue { value })
}

/// Step 3: from here on the host rings when it goes beyond `index`.
pub fn arm(words: &mut impl SharedWords, entry: Entry, index: u16, variant: Variant) {
    match variant.event_index {
        EventIndex::Kept => words.store(entry.offset, index.into()),
        EventIndex::Never => {}
        EventIndex::AllOnes => words.store(entry.offset, u32::MAX),
    }
}

/// Steps 4 and 5: the barrier, and the second look at a queue that was taken up to `tail`.
///
/// # Errors
/// [`InvalidValue`] as [`look`]; the event index is set, so that the next good value rings.
pub fn look_again(
    words: &mut impl SharedWords,
    entry: Entry,
    tail: u16,
    variant: Variant,
) -> Result<Next, InvalidValue> {
    if variant.barrier {
        words.full_barrier();
    }
    let now = look(words, entry)?;
    Ok(if now == tail { Next::Sleep } else { Next::GoOn(now) })
}

/// The whole of it for a submission queue, on a doorbell or on the device's own account: look, process, arm, look again,
/// sleep or go on.
///
/// # Errors
/// [`InvalidValue`] as [`look`]; nothing of that value is processed.
pub fn wake(server: &mut impl Server, entry: Entry, variant: Variant) -> Result<Outcome, InvalidValue> {
    let mut tail = look(server, entry)?;
    for _ in 0..ROUNDS {
        if !server.process(tail) {
            return Ok(Outcome::Stopped);
        }
        arm(server, entry, tail, variant);
        match look_again(server, entry, tail, variant)? {
            Next::Sleep => return Ok(Outcome::Asleep),
            Next::GoOn(further) => tail = further,
        }
    }
    Ok(Outcome::Busy)
}

/// Whether a completion queue whose next entry is `tail` has room, and the head that this follows from.
///
/// A queue that is full by the head the device knows gets its event index set to that head before the second look: only then
/// does the host ring when it frees entries.
///
/// # Errors
/// [`InvalidValue`] for a head that is no index of the queue, or lies beyond its tail.
pub fn room(
    words: &mut impl SharedWords,
    entry: Entry,
    known_head: u16,
    tail: u16,
    variant: Variant,
) -> Result<Option<u16>, InvalidValue> {
    if !is_full(entry.size, known_head, tail) {
        return Ok(Some(known_head));
    }
    arm(words, entry, known_head, variant);
    if variant.barrier {
        words.full_barrier();
    }
    let head = look(words, entry)?;
    if distance(entry.size, known_head, head) > distance(entry.size, known_head, tail) {
        return Err(InvalidValue { value: head.into() });
    }
    Ok(Some(head).filter(|head| !is_full(entry.size, *head, tail)))
}

/// Whether one more entry at `tail` would reach `head`.
pub fn is_full(size: u16, head: u16, tail: u16) -> bool {
    distance(size, tail, head) == 1 || size < 2
}

/// Entries from `from` to `to` in a ring of `size`, both below it.
pub fn distance(size: u16, from: u16, to: u16) -> u16 {
    if to >= from { to - from } else { size.saturating_sub(from).saturating_add(to) }
}

#[cfg(test)]
mod tests;
