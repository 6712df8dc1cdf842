//! What doorbells say, by MMIO and by shared memory, and the fetching of entries.

use super::life::{Phase, Shutdown};
use super::registers::place;
use super::shadow::{self, Entry, EventIndex, InvalidValue, Next, Outcome, Server, SharedWords, Variant};
use super::{Device, Doorbells, Due, Fault, Pages};
use crate::context::Context;
use crate::facts::command::{ERROR_DOORBELL_REGISTER, ERROR_DOORBELL_VALUE, EVENT_ERROR, LOG_ERRORS, SQE_BYTES};
use crate::facts::controller::DOORBELLS;
use crate::nvme::bits;

/// After how long a device that the host keeps busy goes on by itself, in nanoseconds.
const BUSY_NS: u64 = 1_000;

/// The device at a queue's shadow doorbell.
struct Looking<'a, 'b> {
    device: &'a mut Device,
    ctx: &'a mut Context<'b>,
    pages: Pages,
    queue: u16,
}

impl SharedWords for Looking<'_, '_> {
    fn load(&mut self, offset: u64) -> u32 {
        self.device.counters.shadow_loads += 1;
        load(self.ctx, self.pages.shadow + offset)
    }

    fn store(&mut self, offset: u64, value: u32) {
        store(self.ctx, self.pages.events + offset, value);
    }

    /// Model memory has one order of accesses.
    fn full_barrier(&mut self) {}
}

impl Server for Looking<'_, '_> {
    fn process(&mut self, tail: u16) -> bool {
        if let Some(queue) = self.device.submissions.get_mut(&self.queue) {
            queue.tail = tail;
        }
        self.device.fetch(self.ctx, self.queue)
    }
}

fn load(ctx: &mut Context<'_>, address: u64) -> u32 {
    let mut word = [0; 4];
    if let Err(fault) = ctx.memory.read(address, &mut word) {
        ctx.violation("dma-fault", "shadow doorbells", fault.to_string());
    }
    u32::from_le_bytes(word)
}

fn store(ctx: &mut Context<'_>, address: u64, value: u32) {
    if let Err(fault) = ctx.memory.write(address, &value.to_le_bytes()) {
        ctx.violation("dma-fault", "event indices", fault.to_string());
    }
}

impl Device {
    /// The offset of a queue's entry in both pages.
    pub(super) fn tail_offset(&self, queue: u16) -> u64 {
        u64::from(queue) * 2 * self.stride()
    }

    /// The same for a head.
    pub(super) fn head_offset(&self, queue: u16) -> u64 {
        (u64::from(queue) * 2 + 1) * self.stride()
    }

    fn variant(&self) -> Variant {
        let event_index = match self.config.doorbells {
            Doorbells::Polls { event_index, .. } => event_index,
            Doorbells::NeverUpdates => EventIndex::Never,
            Doorbells::Wakes { .. } | Doorbells::NeedsMmio => EventIndex::Kept,
        };
        Variant { event_index, ..Variant::default() }
    }

    /// The pages, if that entry of an IO queue lies in them.
    fn bound(&self, queue: u16, offset: u64) -> Option<Pages> {
        self.pages.filter(|pages| queue != 0 && offset + 4 <= pages.size)
    }

    /// The shadow entry that says how far a submission queue is filled; none where MMIO says that.
    fn tail_entry(&mut self, ctx: &mut Context<'_>, id: u16) -> Option<(Pages, Entry)> {
        let offset = self.tail_offset(id);
        let pages = self.bound(id, offset).filter(|_| self.config.doorbells != Doorbells::NeedsMmio)?;
        let queue = self.submissions.get_mut(&id)?;
        if queue.meaningless.is_some_and(|old| load(ctx, pages.shadow + offset) == old) {
            return None;
        }
        queue.meaningless = None;
        Some((pages, Entry { offset, size: queue.size }))
    }

    /// The same for the head of a completion queue.
    fn head_entry(&mut self, ctx: &mut Context<'_>, id: u16) -> Option<(Pages, Entry)> {
        let offset = self.head_offset(id);
        let pages = self.bound(id, offset).filter(|_| self.config.doorbells != Doorbells::NeedsMmio)?;
        let queue = self.completions.get_mut(&id)?;
        if queue.meaningless.is_some_and(|old| load(ctx, pages.shadow + offset) == old) {
            return None;
        }
        queue.meaningless = None;
        Some((pages, Entry { offset, size: queue.size }))
    }

    fn may_ring(&mut self, ctx: &mut Context<'_>, offset: u64, exists: bool) -> bool {
        if self.registers.phase != Phase::Ready {
            // A controller that has failed takes no notice, and the driver cannot know yet.
            if self.registers.phase != Phase::Failed {
                ctx.violation("doorbell-before-ready", place(offset), "CSTS.RDY is not set");
            }
            return false;
        }
        if self.registers.shutdown == Shutdown::Complete {
            ctx.violation("doorbell-after-shutdown", place(offset), "CSTS.SHST says that the shutdown is complete");
            return false;
        }
        if !exists {
            ctx.violation("doorbell-register", place(offset), "a doorbell of a queue that does not exist");
            self.raise(ctx, EVENT_ERROR, ERROR_DOORBELL_REGISTER, LOG_ERRORS);
        }
        exists
    }

    /// A doorbell with a value that the queue cannot have.
    fn invalid_value(&mut self, ctx: &mut Context<'_>, rule: &'static str, place: String, queue: u16, value: u32) {
        ctx.violation(rule, place, format!("{value:#x} is no index that the queue can have now"));
        self.errors.add_doorbell(queue);
        self.raise(ctx, EVENT_ERROR, ERROR_DOORBELL_VALUE, LOG_ERRORS);
    }

    /// A shadow doorbell holds something invalid; told once for each value.
    fn invalid_shadow(&mut self, ctx: &mut Context<'_>, offset: u64, queue: u16, invalid: InvalidValue) {
        if self.complained.insert(offset, invalid.value) != Some(invalid.value) {
            self.invalid_value(ctx, "shadow-doorbell-value", format!("shadow+{offset:#x}"), queue, invalid.value);
        }
    }

    /// A write to a tail doorbell.
    pub(super) fn ring_tail(&mut self, ctx: &mut Context<'_>, id: u16, value: u32) {
        match id {
            0 => self.counters.admin_doorbells += 1,
            _ => self.counters.submission_doorbells += 1,
        }
        let offset = DOORBELLS + self.tail_offset(id);
        if !self.may_ring(ctx, offset, self.submissions.contains_key(&id)) || self.loses_doorbell(id) {
            return;
        }
        let bound = self.tail_entry(ctx, id).is_some();
        let Some(queue) = self.submissions.get_mut(&id) else { return };
        let tail = bits::low16(value.into());
        let possible = if bound { tail < queue.size } else { queue.accepts(tail) };
        if value > 0xffff || !possible {
            return self.invalid_value(ctx, "doorbell-value", place(offset), id, value);
        }
        if !bound {
            if queue.tail == tail {
                ctx.note("doorbell-unchanged", place(offset), format!("{value:#x} once more"));
            }
            queue.tail = tail;
            self.follow(ctx, self.tail_offset(id), id, tail);
        }
        match self.config.doorbells {
            Doorbells::Wakes { wake_ns, .. } if bound && wake_ns > 0 => {
                self.schedule(ctx, wake_ns, Due::Wake(id));
            }
            _ => self.serve(ctx, id),
        }
    }

    /// A write to a head doorbell.
    pub(super) fn ring_head(&mut self, ctx: &mut Context<'_>, id: u16, value: u32) {
        match id {
            0 => self.counters.admin_doorbells += 1,
            _ => self.counters.completion_doorbells += 1,
        }
        let offset = DOORBELLS + self.head_offset(id);
        if !self.may_ring(ctx, offset, self.completions.contains_key(&id)) {
            return;
        }
        let bound = self.refresh_head(ctx, id);
        let Some(queue) = self.completions.get_mut(&id) else { return };
        let head = bits::low16(value.into());
        let possible = if bound { head < queue.size } else { queue.accepts(head) };
        if value > 0xffff || !possible {
            return self.invalid_value(ctx, "doorbell-value", place(offset), id, value);
        }
        if !bound {
            queue.head = head;
            self.follow(ctx, self.head_offset(id), id, head);
        }
        self.drain(ctx, id);
    }

    /// Keeps the event index of a queue that goes by MMIO at the value that it was given, so that the next update rings.
    fn follow(&mut self, ctx: &mut Context<'_>, offset: u64, id: u16, value: u16) {
        if let Some(pages) = self.pages.filter(|pages| offset + 4 <= pages.size)
            && (id == 0 || self.config.doorbells == Doorbells::NeedsMmio)
        {
            store(ctx, pages.events + offset, value.into());
        }
    }

    fn loses_doorbell(&mut self, id: u16) -> bool {
        let planned = self.config.faults.iter().find_map(|fault| match fault {
            Fault::DoorbellsLost(count) => Some(*count),
            _ => None,
        });
        let lost = id != 0 && planned.is_some_and(|count| self.doorbells_lost < count);
        self.doorbells_lost += u64::from(lost);
        lost
    }

    /// Takes over a shadow head, if that is what counts; whether it is.
    pub(super) fn refresh_head(&mut self, ctx: &mut Context<'_>, id: u16) -> bool {
        let Some((pages, entry)) = self.head_entry(ctx, id) else { return false };
        let looked = shadow::look(&mut Looking { device: self, ctx, pages, queue: id }, entry);
        let Some(queue) = self.completions.get_mut(&id) else { return false };
        match looked {
            Ok(head) if queue.accepts(head) => queue.head = head,
            Ok(head) => self.invalid_shadow(ctx, entry.offset, id, InvalidValue { value: head.into() }),
            Err(invalid) => self.invalid_shadow(ctx, entry.offset, id, invalid),
        }
        true
    }

    /// Whether a completion queue has room; a shadow head is looked at before that is denied.
    pub(super) fn has_room(&mut self, ctx: &mut Context<'_>, id: u16) -> bool {
        let Some(queue) = self.completions.get(&id) else { return false };
        if !queue.is_full() {
            return true;
        }
        let (head, tail, variant) = (queue.head, queue.tail, self.variant());
        let Some((pages, entry)) = self.head_entry(ctx, id) else { return false };
        let mut looking = Looking { device: self, ctx, pages, queue: id };
        match shadow::room(&mut looking, entry, head, tail, variant) {
            Ok(Some(head)) => {
                if let Some(queue) = self.completions.get_mut(&id) {
                    queue.head = head;
                }
                true
            }
            Ok(None) => false,
            Err(invalid) => {
                self.invalid_shadow(ctx, entry.offset, id, invalid);
                false
            }
        }
    }

    /// Looks at a submission queue and takes what is there.
    pub(super) fn serve(&mut self, ctx: &mut Context<'_>, id: u16) {
        let Some((pages, entry)) = self.tail_entry(ctx, id) else {
            self.fetch(ctx, id);
            return;
        };
        let variant = self.variant();
        let mut looking = Looking { device: self, ctx, pages, queue: id };
        let lingers = match looking.device.config.doorbells {
            Doorbells::Wakes { settle_ns, look_again_ns, .. } if settle_ns > 0 || look_again_ns > 0 => Some(settle_ns),
            _ => None,
        };
        let outcome = match lingers {
            None => shadow::wake(&mut looking, entry, variant),
            Some(settle_ns) => match shadow::look(&mut looking, entry) {
                Err(invalid) => Err(invalid),
                Ok(tail) if looking.process(tail) => {
                    self.schedule(ctx, settle_ns, Due::Settle(id));
                    Ok(Outcome::Asleep)
                }
                Ok(_) => Ok(Outcome::Stopped),
            },
        };
        match outcome {
            Ok(Outcome::Busy) => drop(self.schedule(ctx, BUSY_NS, Due::Wake(id))),
            Ok(Outcome::Asleep | Outcome::Stopped) => drop(self.complained.remove(&entry.offset)),
            Err(invalid) => self.invalid_shadow(ctx, entry.offset, id, invalid),
        }
    }

    /// Pages were bound: queues that exist are looked at, and ring from now on.
    pub(super) fn arm_bound(&mut self, ctx: &mut Context<'_>) {
        for id in self.submissions.keys().copied().collect::<Vec<_>>() {
            let (offset, variant) = (self.tail_offset(id), self.variant());
            let bound = self.bound(id, offset).filter(|_| self.config.doorbells != Doorbells::NeedsMmio);
            if let (Some(pages), Some(queue)) = (bound, self.submissions.get(&id)) {
                let (entry, tail) = (Entry { offset, size: queue.size }, queue.tail);
                shadow::arm(&mut Looking { device: self, ctx, pages, queue: id }, entry, tail, variant);
                self.serve(ctx, id);
            }
        }
    }

    /// The event index of a queue that was emptied is due.
    pub(super) fn settle(&mut self, ctx: &mut Context<'_>, id: u16) {
        let Some((pages, entry)) = self.tail_entry(ctx, id) else { return };
        let Some(head) = self.emptied(id) else { return };
        let variant = self.variant();
        shadow::arm(&mut Looking { device: self, ctx, pages, queue: id }, entry, head, variant);
        match self.config.doorbells {
            Doorbells::Wakes { look_again_ns, .. } if look_again_ns > 0 => {
                self.schedule(ctx, look_again_ns, Due::LookAgain(id));
            }
            _ => self.look_again(ctx, id),
        }
    }

    /// The second look is due.
    pub(super) fn look_again(&mut self, ctx: &mut Context<'_>, id: u16) {
        let Some((pages, entry)) = self.tail_entry(ctx, id) else { return };
        let Some(head) = self.emptied(id) else { return };
        let variant = self.variant();
        match shadow::look_again(&mut Looking { device: self, ctx, pages, queue: id }, entry, head, variant) {
            Ok(Next::Sleep) => {}
            Ok(Next::GoOn(_)) => self.serve(ctx, id),
            Err(invalid) => self.invalid_shadow(ctx, entry.offset, id, invalid),
        }
    }

    /// The head of a queue of which everything known is fetched.
    fn emptied(&self, id: u16) -> Option<u16> {
        self.submissions.get(&id).filter(|queue| queue.head == queue.tail).map(|queue| queue.head)
    }

    /// A device that polls looks at everything.
    pub(super) fn poll(&mut self, ctx: &mut Context<'_>) {
        if let (Some(_), Doorbells::Polls { every_ns, .. }) = (self.pages, self.config.doorbells) {
            for id in self.submissions.keys().copied().filter(|id| *id != 0).collect::<Vec<_>>() {
                self.serve(ctx, id);
            }
            for id in self.completions.keys().copied().collect::<Vec<_>>() {
                self.drain(ctx, id);
            }
            self.schedule(ctx, every_ns.max(1), Due::Poll);
        }
    }

    /// Fetches entries up to the tail that is known; false if it has to stop before.
    pub(super) fn fetch(&mut self, ctx: &mut Context<'_>, id: u16) -> bool {
        loop {
            let may = self.may_fetch(id);
            let Some(queue) = self.submissions.get_mut(&id) else { return true };
            queue.stopped = queue.head != queue.tail && !may;
            if queue.stopped || queue.head == queue.tail {
                return !queue.stopped;
            }
            let address = queue.next();
            let mut bytes = [0; SQE_BYTES];
            match ctx.memory.read(address, &mut bytes) {
                Ok(()) => self.begin(ctx, id, &bytes),
                Err(fault) => ctx.violation("dma-fault", format!("submission queue {id}"), fault.to_string()),
            }
        }
    }

    fn may_fetch(&self, id: u16) -> bool {
        let Some(queue) = self.submissions.get(&id) else { return false };
        let slots = self.config.request_slots;
        let room = self.completions.get(&queue.completions).is_some_and(|completions| completions.held.is_empty());
        self.registers.phase == Phase::Ready && room && (slots == 0 || queue.in_flight < slots)
    }
}
