//! Completions: posting them, waiting for room, and what that lets go on.

use super::queue::Completion;
use super::{Device, registers};
use crate::context::Context;
use crate::facts::controller::CC;
use crate::nvme::status::Status;

impl Device {
    /// A command is done: its completion is posted, or waits for room.
    pub(super) fn complete(&mut self, ctx: &mut Context<'_>, entry: Completion) {
        let Some(queue) = self.submissions.get_mut(&entry.queue) else { return };
        queue.in_flight = queue.in_flight.saturating_sub(1);
        let completions = queue.completions;
        let Some(target) = self.completions.get_mut(&completions) else { return };
        target.held.push_back(entry);
        self.drain(ctx, completions);
        if self.submissions.get(&entry.queue).is_some_and(|queue| queue.stopped) {
            self.serve(ctx, entry.queue);
        }
    }

    /// Posts what waits, as far as there is room, and lets stopped queues go on when nothing waits any more.
    pub(super) fn drain(&mut self, ctx: &mut Context<'_>, id: u16) {
        let mut posted = false;
        while self.completions.get(&id).is_some_and(|queue| !queue.held.is_empty()) {
            if !self.has_room(ctx, id) {
                self.counters.queue_full += 1;
                return;
            }
            let Some(queue) = self.completions.get_mut(&id) else { return };
            let Some(entry) = queue.held.pop_front() else { return };
            let head = self.submissions.get(&entry.queue).map_or(0, |submissions| submissions.head);
            if let Err(fault) = queue.post(ctx.memory, &entry, head) {
                ctx.violation("dma-fault", format!("completion queue {id}"), fault.to_string());
                return;
            }
            posted = true;
        }
        let stopped = |queue: &super::Submissions| queue.completions == id && queue.stopped;
        let waiting: Vec<u16> =
            self.submissions.iter().filter(|(_, queue)| stopped(queue)).map(|(number, _)| *number).collect();
        if posted {
            waiting.into_iter().for_each(|queue| self.serve(ctx, queue));
        }
    }

    /// Takes the commands of a submission queue out of flight and completes each of them with `status`.
    pub(super) fn abort_all(&mut self, ctx: &mut Context<'_>, id: u16, status: Status) {
        let commands = std::mem::take(&mut self.commands);
        let (aborted, kept) = commands.into_iter().partition(|(_, command)| command.queue == id);
        self.commands = kept;
        for (number, command) in aborted {
            self.due.remove(&number);
            let (queue, id) = (command.queue, command.submission.id);
            self.complete(ctx, Completion { queue, id, status, result: 0 });
        }
    }

    /// The level of the interrupt line: an entry that the host has not taken waits on a queue with interrupts, and the mask of
    /// its vector is clear.
    pub(super) fn interrupt(&mut self, ctx: &mut Context<'_>) -> bool {
        for id in self.completions.keys().copied().collect::<Vec<_>>() {
            self.refresh_head(ctx, id);
        }
        let mask = self.registers.mask;
        let open = |vector: u16| mask.checked_shr(vector.into()).unwrap_or(0) & 1 == 0;
        self.completions.values().any(|queue| queue.interrupt && queue.head != queue.tail && open(queue.vector))
    }

    /// The pages that the device may still reach, each with the rule that freeing it breaks and why.
    pub(super) fn held_pages(&self) -> Vec<(u64, &'static str, String)> {
        let mut held = Vec::new();
        let mut add = |address: u64, length: u64, rule: &'static str, why: String| {
            let (first, last) = (address / 4096, address.saturating_add(length.saturating_sub(1)) / 4096);
            held.extend((first..=last).map(|page| (page * 4096, rule, why.clone())));
        };
        if let Some(pages) = self.pages {
            for page in [pages.shadow, pages.events] {
                let why = "Doorbell Buffer Config binds it until a reset is confirmed".into();
                add(page, pages.size, "shadow-freed-while-bound", why);
            }
        }
        for command in self.commands.values() {
            for segment in &command.segments {
                let why = format!("command {} of queue {} is still in flight", command.submission.id, command.queue);
                add(segment.address, segment.length, "memory-freed-in-flight", why);
            }
        }
        let rings = self.submissions.iter().map(|(id, queue)| (id, queue.segment()));
        for (id, segment) in rings.chain(self.completions.iter().map(|(id, queue)| (id, queue.segment()))) {
            let why = format!("it holds entries of queue {id}, which exists");
            add(segment.address, segment.length, "memory-freed-in-flight", why);
        }
        for page in &self.lingering {
            let why = format!("the reset at {} is not confirmed: CSTS.RDY is still set", registers::place(CC));
            add(*page, 1, "memory-freed-before-reset", why);
        }
        held
    }
}
