//! Loads: writers that each write, flush, and begin again when the flush has ended.

use hal::Clock;
use nvme::{Buffer, Completion, Operation, Request, Ticket};
use sim::pcie::Pool;

use crate::Outcome;
use crate::drive::{BLOCK, BLOCKS, Drive, NAMESPACE};

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// How many write and flush by themselves.
    pub(crate) writers: u32,
    /// Writes that each of them has in flight at once before it flushes.
    pub(crate) burst: u32,
    /// After so many flushes of all of them together they stop; no fewer than there are writers.
    pub(crate) flushes: u64,
}

/// What came of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Writes that were flushed.
    writes: u64,
    /// Flushes that the device did, from the first write to the last flush that was answered.
    flushes: u64,
    nanoseconds: u64,
}

impl Measured {
    /// Writes a second, each with its share of flushes.
    pub(crate) fn rate(self) -> f64 {
        self.writes as f64 * 1e9 / self.nanoseconds as f64
    }

    /// Flushes of the device for each write.
    pub(crate) fn flushes_per_write(self) -> f64 {
        self.flushes as f64 / self.writes as f64
    }
}

/// One that writes and flushes.
#[derive(Default)]
struct Writer {
    /// What it waits for.
    tickets: Vec<Ticket>,
    flushing: bool,
    buffers: Vec<Buffer<Pool>>,
}

impl Load {
    /// Runs it. Nothing may fail, and no rule of the hardware be broken.
    pub(crate) fn run(self, drive: &mut Drive) -> Outcome<Measured> {
        let mut random = Random(1);
        let mut writers = Vec::new();
        for _ in 0..self.writers {
            let buffer = |_| Buffer::new(drive.controller.pool(), BLOCK as usize);
            let buffers = (0..self.burst).map(buffer).collect::<Result<_, _>>()?;
            writers.push(Writer { buffers, ..Writer::default() });
        }
        let (begin, flushes) = (drive.controller.clock().now(), drive.flushes());
        for writer in &mut writers {
            writer.write(drive, &mut random)?;
        }
        let (mut begun, mut done) = (u64::from(self.writers), 0);
        while done < self.flushes {
            let Some(completion) = drive.controller.poll() else {
                drive.controller.clock().relax();
                continue;
            };
            completion.result?;
            let of = writers.iter_mut().find(|writer| writer.tickets.contains(&completion.ticket));
            let writer = of.ok_or("a command ended that nobody had submitted")?;
            if writer.ended(drive, completion)? {
                done += 1;
                if begun < self.flushes {
                    begun += 1;
                    writer.write(drive, &mut random)?;
                }
            }
        }
        let end = drive.controller.clock().now();
        let measured = Measured {
            writes: done * u64::from(self.burst),
            flushes: drive.flushes() - flushes,
            nanoseconds: end.as_nanos() - begin.as_nanos(),
        };
        drive.controller.quiesce()?;
        match drive.board.violations().first() {
            Some(violation) => Err(format!("{violation:?}").into()),
            None => Ok(measured),
        }
    }
}

impl Writer {
    /// Writes all that it has.
    fn write(&mut self, drive: &mut Drive, random: &mut Random) -> Outcome<()> {
        self.flushing = false;
        for buffer in self.buffers.drain(..) {
            let operation = Operation::Write { lba: random.next() % BLOCKS, count: 1, force_unit_access: false };
            let request = Request { namespace: NAMESPACE, operation, buffer: Some(buffer) };
            self.tickets.push(drive.controller.submit(request).map_err(|refused| refused.error)?);
        }
        Ok(())
    }

    /// Something that it waits for has ended; whether that was a flush.
    fn ended(&mut self, drive: &mut Drive, completion: Completion<Pool>) -> Outcome<bool> {
        self.tickets.retain(|ticket| *ticket != completion.ticket);
        self.buffers.extend(completion.buffer);
        if self.flushing {
            return Ok(true);
        }
        if self.tickets.is_empty() {
            let request = Request { namespace: NAMESPACE, operation: Operation::Flush, buffer: None };
            self.tickets.push(drive.controller.submit(request).map_err(|refused| refused.error)?);
            self.flushing = true;
        }
        Ok(false)
    }
}

/// Numbers at random: the same in each run.
struct Random(u64);

impl Random {
    /// The next one (Marsaglia's xorshift of 2003, with shifts 13, 7 and 17).
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
