//! Creation and deletion of IO queues, and the binding of shadow doorbells.

use super::queue::{Completions, Submissions};
use super::{Device, Doorbells, Due, Pages};
use crate::context::Context;
use crate::facts::command as facts;
use crate::nvme::bits;
use crate::nvme::entry::Submission;
use crate::nvme::status::Status;

/// Low and high half of command dword 10 or 11.
fn halves(dword: u32) -> (u16, u16) {
    (bits::low16(dword.into()), bits::low16(u64::from(dword >> 16)))
}

fn id_of(entry: &Submission) -> u16 {
    bits::low16(facts::CREATE_QID.of32(entry.dwords[0]).into())
}

impl Device {
    /// Queue id and entries of a Create command.
    fn new_queue(&self, entry: &Submission, limit: u16, exists: bool) -> Result<(u16, u16), Status> {
        let (id, size) = halves(entry.dwords[0]);
        if id == 0 || id > limit || exists {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if size == 0 || size > self.config.capabilities.queue_entries || !self.registers.entry_sizes_fit() {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        // CAP.CQR: there is no list of a scattered queue.
        if facts::CREATE_PC.of32(entry.dwords[1]) == 0 || entry.prp[0] == 0 {
            return Err(Status::INVALID_FIELD);
        }
        if !entry.prp[0].is_multiple_of(self.page()) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        Ok((id, size.saturating_add(1)))
    }

    pub(super) fn create_completions(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        let (_, limit) = self.queues_granted();
        let exists = self.completions.contains_key(&id_of(entry));
        let (id, size) = self.new_queue(entry, limit, exists)?;
        let interrupt = facts::CREATE_IEN.of32(entry.dwords[1]) == 1;
        let vector = bits::low16(facts::CREATE_HIGH.of32(entry.dwords[1]).into());
        // As many vectors as queues, and one for the admin queue.
        if interrupt && vector > self.config.queue_pairs {
            return Err(Status::INVALID_VECTOR);
        }
        self.completions.insert(id, Completions::new(entry.prp[0], size, interrupt, vector));
        self.queues_made = true;
        self.check_entry(ctx, self.head_offset(id));
        Ok(0)
    }

    pub(super) fn create_submissions(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        let (limit, _) = self.queues_granted();
        let exists = self.submissions.contains_key(&id_of(entry));
        let completions = bits::low16(facts::CREATE_HIGH.of32(entry.dwords[1]).into());
        if completions == 0 || !self.completions.contains_key(&completions) {
            return Err(Status::COMPLETION_QUEUE_INVALID);
        }
        let (id, size) = self.new_queue(entry, limit, exists)?;
        self.submissions.insert(id, Submissions::new(entry.prp[0], size, completions));
        (self.queues_made, self.registers.unclean) = (true, true);
        self.check_entry(ctx, self.tail_offset(id));
        Ok(0)
    }

    /// The entries of a queue that is new have to be zero in both pages.
    fn check_entry(&self, ctx: &mut Context<'_>, offset: u64) {
        if let Some(pages) = self.pages.filter(|pages| offset + 4 <= pages.size) {
            for (name, page) in [("shadow", pages.shadow), ("event index", pages.events)] {
                let mut word = [0; 4];
                if ctx.memory.read(page + offset, &mut word).is_ok() && word != [0; 4] {
                    let detail = format!("{name} entry {:#x} of a new queue is not zero", u32::from_le_bytes(word));
                    ctx.violation("shadow-entry-stale", format!("shadow+{offset:#x}"), detail);
                }
            }
        }
    }

    /// Deletes a submission queue; what is in flight there is aborted.
    pub(super) fn delete_submissions(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        let id = id_of(entry);
        if id == 0 || !self.submissions.contains_key(&id) {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        // Nothing more is fetched: the tail goes back to the head.
        if let Some(queue) = self.submissions.get_mut(&id) {
            queue.tail = queue.head;
            queue.stopped = false;
        }
        self.abort_all(ctx, id, Status::QUEUE_DELETED);
        self.submissions.remove(&id);
        Ok(0)
    }

    pub(super) fn delete_completions(&mut self, entry: &Submission) -> Result<u32, Status> {
        let id = id_of(entry);
        if id == 0 || !self.completions.contains_key(&id) {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if self.submissions.values().any(|queue| queue.completions == id) {
            return Err(Status::INVALID_QUEUE_DELETION);
        }
        self.completions.remove(&id);
        Ok(0)
    }

    /// Doorbell Buffer Config: entries are bound to the queues that exist, and to those that are made later.
    pub(super) fn bind(&mut self, ctx: &mut Context<'_>, place: &str, entry: &Submission) -> Result<u32, Status> {
        let ([shadow, events], size) = (entry.prp, self.page());
        let usable = |page: u64| page != 0 && page.is_multiple_of(size);
        if !usable(shadow) || !usable(events) || shadow == events {
            return Err(Status::INVALID_FIELD);
        }
        let mut contents = Vec::new();
        for page in [shadow, events] {
            let mut bytes = vec![0; bits::size(size)];
            ctx.memory.read(page, &mut bytes).map_err(|fault| {
                ctx.violation("dma-fault", place, fault.to_string());
                Status::DATA_TRANSFER_ERROR
            })?;
            contents.push(bytes);
        }
        let [first, second] = <[Vec<u8>; 2]>::try_from(contents).map_err(|_| Status::INTERNAL_ERROR)?;
        self.pages = Some(Pages { shadow, events, size });
        self.complained.clear();
        self.counters.shadow_binds += 1;
        let known = self.known_doorbells();
        let stale = (0..bits::size(size)).step_by(4).find(|offset| {
            let (value, index) = (bits::word(&first, *offset), bits::word(&second, *offset));
            let tail = known.iter().find(|(at, _)| *at == *offset as u64).map_or(0, |(_, value)| u32::from(*value));
            index != 0 || (value != 0 && value != tail)
        });
        if let Some(offset) = stale {
            let detail = format!("{shadow:#x} or {events:#x} is not zero at offset {offset:#x}");
            ctx.violation("stale-shadow", place, detail);
        }
        // An entry that does not hold its queue's doorbell says nothing until the host stores there.
        let meaningless = |offset: u64, value: u16| {
            let held = bits::word(&first, bits::size(offset));
            (held != u32::from(value)).then_some(held)
        };
        let stride = self.stride();
        for (id, queue) in &mut self.submissions {
            queue.meaningless = meaningless(u64::from(*id) * 2 * stride, queue.tail);
        }
        for (id, queue) in &mut self.completions {
            queue.meaningless = meaningless((u64::from(*id) * 2 + 1) * stride, queue.head);
        }
        self.after_bind(ctx, shadow, events, &known);
        Ok(0)
    }

    /// The doorbells of queues that exist, by the offset of their entries.
    pub(super) fn known_doorbells(&self) -> Vec<(u64, u16)> {
        let tails = self.submissions.iter().map(|(id, queue)| (self.tail_offset(*id), queue.tail));
        let heads = self.completions.iter().map(|(id, queue)| (self.head_offset(*id), queue.head));
        tails.chain(heads).collect()
    }

    fn after_bind(&mut self, ctx: &mut Context<'_>, shadow: u64, events: u64, known: &[(u64, u16)]) {
        let size = self.page();
        // Queues that go by MMIO have event indices that make every update ring.
        let by_mmio = |offset: u64| self.config.doorbells == Doorbells::NeedsMmio || offset < 2 * self.stride();
        for (offset, value) in known.iter().filter(|(offset, _)| offset + 4 <= size) {
            let word = u32::from(*value).to_le_bytes();
            if by_mmio(*offset) {
                let _ = ctx.memory.write(events + offset, &word);
            }
            if self.config.copies_on_bind {
                let _ = ctx.memory.write(shadow + offset, &word);
            }
        }
        if self.config.copies_on_bind {
            self.submissions.values_mut().for_each(|queue| queue.meaningless = None);
            self.completions.values_mut().for_each(|queue| queue.meaningless = None);
        }
        if self.config.arms_on_bind {
            self.arm_bound(ctx);
        }
        if let Doorbells::Polls { every_ns, .. } = self.config.doorbells {
            self.due.retain(|_, due| !matches!(due, Due::Poll));
            self.schedule(ctx, every_ns.max(1), Due::Poll);
        }
    }
}
