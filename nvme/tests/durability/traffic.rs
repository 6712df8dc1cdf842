//! What a caller does all the time: writes, flushes, polls, and time that passes.

use nvme::{Buffer, CacheMode, CommandError, FlushPolicy, Operation, Request, SubmitError, Ticket};

use crate::checker::{BLOCK, BLOCKS, Versions, Write};
use crate::history::{Flight, History, Stop};

impl History {
    /// Blocks that no write is under way to.
    pub(crate) fn free_blocks(&mut self, at: usize) -> Option<(usize, usize)> {
        let count = 1 + self.random.below(16) as usize;
        let first = self.random.below((BLOCKS - count) as u64 + 1) as usize;
        let mask = ((1u64 << count) - 1) << first;
        (self.spaces[at].busy & mask == 0).then_some((first, count))
    }

    pub(crate) fn mark(&mut self, at: usize, write: Write, busy: bool) {
        let mask = ((1u64 << write.count) - 1) << write.first;
        let space = &mut self.spaces[at];
        space.busy = if busy { space.busy | mask } else { space.busy & !mask };
    }

    pub(crate) fn submit_write(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let Some((first, count)) = self.free_blocks(at) else { return self.poll() };
        let id = self.spaces[at].id;
        let write = self.spaces[at].account.begin(first, count);
        let forced = self.random.one_in(8);
        let buffer = Buffer::new(self.driver().pool(), count * BLOCK).expect("memory");
        buffer.write_bytes(0, &write.bytes(id));
        let operation = Operation::Write { lba: first as u64, count: count as u32, force_unit_access: forced };
        self.say(|| format!("write {id} {write:?} forced {forced}"));
        match self.submit(Request { namespace: id, operation, buffer: Some(buffer) })? {
            Some(ticket) => {
                self.mark(at, write, true);
                self.flights.insert(ticket, Flight::Write { space: at, write, forced });
            }
            None => self.spaces[at].account.take_back(write),
        }
        Ok(())
    }

    pub(crate) fn submit(&mut self, request: Request<sim::pcie::Pool>) -> Result<Option<Ticket>, Stop> {
        let pairs = self.driver().queue_pairs();
        let pair = self.random.below(pairs.into()) as u16;
        let result = self.driver().submit_on(pair, request).map_err(|refused| refused.error);
        if matches!(result, Err(SubmitError::Busy)) {
            return self.poll().map(|()| None);
        }
        Ok(self.answered("submit", result)?.ok())
    }

    pub(crate) fn submit_flush(&mut self, operation: Operation) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        let covers = self.spaces[at].account.snapshot();
        let through = self.mode(at) == CacheMode::WriteThrough;
        let blind = through && !self.is_write_through(at);
        let by = match self.driver().flush_policy(id).expect("it is there") {
            FlushPolicy::Deferred { max_delay } if operation == Operation::Flush && !through => {
                Some(self.now() + max_delay.as_nanos() as u64 + self.flush)
            }
            _ => None,
        };
        self.say(|| format!("{operation:?} {id} blind {blind} by {by:?}"));
        if let Some(ticket) = self.submit(Request { namespace: id, operation, buffer: None })? {
            self.flights.insert(ticket, Flight::Flush { space: at, covers: Box::new(covers), blind, by });
        }
        if by.is_some() { self.poll() } else { Ok(()) }
    }

    /// A flush or a sync that ended well.
    pub(crate) fn flushed(&mut self, at: usize, covers: &Versions, blind: bool, by: Option<u64>) {
        match by {
            _ if blind => {}
            // Where flushes fail, a deferred one stays due, and nobody says until when.
            Some(_) if self.faulty => self.spaces[at].account.promise_by(u64::MAX, *covers),
            Some(moment) => self.spaces[at].account.promise_by(moment, *covers),
            None => self.spaces[at].account.promise(covers),
        }
    }

    pub(crate) fn poll(&mut self) -> Result<(), Stop> {
        if self.random.one_in(4) {
            let end = self.driver().wait();
            self.take(end)?;
        }
        self.poll_all()
    }

    pub(crate) fn poll_all(&mut self) -> Result<(), Stop> {
        loop {
            let end = self.driver().poll();
            if !self.take(end)? {
                return Ok(());
            }
        }
    }

    pub(crate) fn take(&mut self, end: Option<nvme::Completion<sim::pcie::Pool>>) -> Result<bool, Stop> {
        if self.rig.board.cut_at().is_some() {
            return Err(Stop::Cut);
        }
        let Some(end) = end else { return Ok(false) };
        let Some(flight) = self.flights.remove(&end.ticket) else {
            return Err(Stop::Unplanned(format!("an end of a command that nobody submitted: {:?}", end.ticket)));
        };
        let well = match end.result {
            Ok(()) => true,
            Err(CommandError::Reset) => false,
            Err(error) => self.answered("end", Err::<(), _>(error))?.is_ok(),
        };
        match flight {
            Flight::Write { space, write, forced } => {
                self.mark(space, write, false);
                let durable = forced || self.is_write_through(space);
                self.say(|| format!("end of {write:?}: {well}, durable {durable}"));
                if well {
                    self.spaces[space].account.acknowledge(write, durable);
                }
            }
            Flight::Flush { space, covers, blind, by } => {
                self.say(|| format!("end of flush by {by:?}: {well}"));
                if well {
                    self.flushed(space, &covers, blind, by);
                }
            }
        }
        Ok(true)
    }

    pub(crate) fn write_durable(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let Some((first, count)) = self.free_blocks(at) else { return Ok(()) };
        let id = self.spaces[at].id;
        let write = self.spaces[at].account.begin(first, count);
        let promised = self.mode(at) == CacheMode::WriteBack || self.is_write_through(at);
        self.say(|| format!("write durable {id} {write:?} promised {promised}"));
        let result = self.driver().write_durable(id, first as u64, &write.bytes(id));
        if self.answered("write durable", result)?.is_ok() {
            self.spaces[at].account.acknowledge(write, promised);
        }
        Ok(())
    }

    /// The blocking calls.
    pub(crate) fn flush_and_wait(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        let covers = self.spaces[at].account.snapshot();
        let blind = self.mode(at) == CacheMode::WriteThrough && !self.is_write_through(at);
        let deferred = matches!(self.driver().flush_policy(id), Ok(FlushPolicy::Deferred { .. }));
        let sync = self.random.one_in(3) || deferred;
        self.say(|| format!("flush and wait {id} sync {sync} blind {blind}"));
        let result = if sync { self.driver().sync(id) } else { self.driver().flush(id) };
        if self.answered("flush", result)?.is_ok() {
            self.flushed(at, &covers, blind, None);
        }
        Ok(())
    }

    /// Time passes, with a poll as often as a deferred flush asks for.
    pub(crate) fn idle(&mut self) -> Result<(), Stop> {
        let delay = self.delay.as_nanos() as u64;
        let total = self.random.pick(&[50_000, 500_000, delay / 4, delay, delay * 3 / 2]);
        let most = delay / 8 - delay / 80;
        self.say(|| format!("idle {total}"));
        let mut left = total;
        while left > 0 {
            let part = left.min(most);
            self.rig.board.pass(part);
            left -= part;
            self.poll()?;
        }
        Ok(())
    }
}
