//! Load for figures and for confidence: random reads at a constant depth, and a soak of mixed ones.

use core::time::Duration;

use hal::{Clock, DmaPool, Platform};
use heapless::Vec;
use nvme::{Buffer, Completion, Controller, Operation, Refused, Request, Ticket, Transport};

use crate::any::AnyController;
use crate::length;
use crate::random::Random;
use crate::reason::Reason;
use crate::storage::Storage;

/// What one read of the random-read load moves.
const RANDOM_READ: u32 = 4096;
/// The largest read of the soak.
const LARGEST: usize = 64 << 10;
/// Tags are at most 63 (`Transport`).
const MOST: usize = 64;
/// Submissions and completions after which the coprocessor's messages are served: some milliseconds' worth.
const SERVE: u32 = 256;

/// What a load did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Reads that came back well.
    pub reads: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// From the first submission to the last completion.
    pub took: Duration,
}

/// A namespace as the loads see it.
#[derive(Clone, Copy, Debug)]
struct Target {
    namespace: u32,
    block_size: u32,
    blocks: u64,
}

impl Target {
    fn of<P: Platform>(controller: &dyn AnyController<P>, namespace: u32) -> Result<Self, Reason> {
        let found = controller.namespace(namespace);
        let found = found.ok_or_else(|| Reason::new(format_args!("there is no namespace {namespace}")))?;
        Ok(Self { namespace, block_size: found.block_size(), blocks: found.blocks })
    }

    /// A read of these blocks.
    #[inline(always)]
    fn read<D: DmaPool>(self, lba: u64, count: u32, buffer: Buffer<D>) -> Request<D> {
        let operation = Operation::Read { lba, count };
        Request { namespace: self.namespace, operation, buffer: Some(buffer) }
    }
}

/// Reads `count` random pieces of 4 KiB, `depth` in flight; `mark` is told when the measured part begins and ends.
///
/// # Errors
/// A depth that the controller does not have, or the first read that failed.
pub fn random_reads<P: Platform, T: Transport<P>>(
    controller: &mut Controller<P, T>,
    namespace: u32,
    (count, depth): (u64, u64),
    mark: &mut dyn FnMut(&'static str),
) -> Result<Report, Reason> {
    let target = Target::of(controller, namespace)?;
    let most = u64::from(controller.depth());
    if depth > most {
        return Err(Reason::new(format_args!("depth {depth}: at most {most} commands can be in flight")));
    }
    let blocks = (RANDOM_READ / target.block_size).max(1);
    let places = (target.blocks / u64::from(blocks)).max(1);
    let bytes = blocks * target.block_size;
    let in_flight = depth.min(count);
    let buffers = buffers(controller, length(in_flight), bytes as usize)?;
    let mut random = Random::new(1);
    let mut done = 0;
    mark("bench-start");
    let began = controller.clock().now();
    let mut read = |controller: &mut Controller<P, T>, buffer| {
        let request = target.read(random.below(places) * u64::from(blocks), blocks, buffer);
        match controller.submit_on(0, request) {
            Ok(_) => Ok(()),
            Err(Refused { error, .. }) => Err(Reason::during("a random read", error)),
        }
    };
    let filled = buffers.into_iter().try_for_each(|buffer| read(controller, buffer));
    let mut left = count - in_flight;
    let result = filled.and_then(|()| {
        loop {
            match controller.wait() {
                // Each buffer that comes back goes out again at once.
                Some(Completion { result: Ok(()), buffer: Some(buffer), .. }) => {
                    done += 1;
                    if left != 0 {
                        left -= 1;
                        read(controller, buffer)?;
                    }
                }
                Some(Completion { result: Err(error), .. }) => break Err(Reason::during("a random read", error)),
                Some(_) => break Err(Reason::new("a read came back without its buffer")),
                None => break if done == count { Ok(()) } else { Err(Reason::new("a read never came back")) },
            }
        }
    });
    let took = controller.clock().now().since(began);
    mark("bench-end");
    match result {
        Ok(()) => Ok(Report { reads: done, bytes: done * u64::from(bytes), took }),
        Err(reason) => Err(drained(controller, reason)),
    }
}

/// A read of the soak that has not come back.
struct Outstanding {
    ticket: Ticket,
    lba: u64,
    bytes: u64,
}

/// Makes `count` reads at random places, of 1 block to 64 KiB, at depths that change at random, on all queue pairs in turn, and
/// checks that each comes back once. The coprocessor is served now and then.
///
/// # Errors
/// The first read that failed, was lost or came back twice; or the coprocessor's crash.
pub fn soak<P: Platform<Clock: Clone>>(
    storage: &mut dyn Storage<Platform = P>,
    (index, namespace): (usize, u32),
    count: u64,
) -> Result<Report, Reason> {
    let controller = selected(storage, index)?;
    let target = Target::of(controller, namespace)?;
    let bytes = LARGEST.min(controller.identity().transfer);
    let largest = (bytes as u64 >> target.block_size.trailing_zeros()).max(1);
    let mut free = buffers(controller, controller.depth() as usize, bytes.max(target.block_size as usize))?;
    let mut random = Random::new(2);
    let mut outstanding: Vec<Outstanding, MOST> = Vec::new();
    let mut report = Report { reads: 0, bytes: 0, took: Duration::ZERO };
    let began = controller.clock().now();
    let (mut submitted, mut depth, mut turns, mut pair) = (0, 1, 0, 0);
    let result = loop {
        turns += 1;
        if turns % SERVE == 0
            && let Err(reason) = storage.serve()
        {
            break Err(reason);
        }
        let controller = selected(storage, index)?;
        if random.below(16) == 0 {
            depth = 1 + length(random.below(u64::from(controller.depth())));
        }
        if submitted < count
            && outstanding.len() < depth
            && let Some(buffer) = free.pop()
        {
            let blocks = (1 + random.below(largest)).min(target.blocks);
            let lba = random.below(target.blocks - blocks + 1);
            let count = u32::try_from(blocks).unwrap_or(u32::MAX);
            match controller.submit_on(pair, target.read(lba, count, buffer)) {
                // There is room: the depth is at most the number of tags.
                Ok(ticket) => {
                    let bytes = blocks * u64::from(target.block_size);
                    let _ = outstanding.push(Outstanding { ticket, lba, bytes });
                }
                Err(Refused { error, .. }) => break Err(Reason::new(format_args!("block {lba}: {error}"))),
            }
            // No pair is ever too full: each alone has room for all of them.
            pair = if pair + 1 < controller.queue_pairs() { pair + 1 } else { 0 };
            submitted += 1;
            continue;
        }
        let Some(completion) = controller.wait() else {
            break match outstanding.len() {
                0 if submitted == count => Ok(()),
                lost => Err(Reason::new(format_args!("{lost} reads were lost"))),
            };
        };
        let Some(at) = outstanding.iter().position(|read| read.ticket == completion.ticket) else {
            break Err(Reason::new("a read came back twice"));
        };
        let Outstanding { lba, bytes, .. } = outstanding.swap_remove(at);
        if let Err(error) = completion.result {
            break Err(Reason::new(format_args!("block {lba}: {error}")));
        }
        report.bytes += bytes;
        report.reads += 1;
        let Some(buffer) = completion.buffer else { break Err(Reason::new("a read came back without its buffer")) };
        // There is room: the buffer came from here.
        let _ = free.push(buffer);
    };
    let controller = selected(storage, index)?;
    report.took = controller.clock().now().since(began);
    match result {
        Ok(()) => Ok(report),
        Err(reason) => Err(drained(controller, reason)),
    }
}

fn selected<P: Platform<Clock: Clone>>(
    storage: &mut dyn Storage<Platform = P>,
    index: usize,
) -> Result<&mut dyn AnyController<P>, Reason> {
    storage.controller(index).ok_or_else(|| Reason::new(format_args!("there is no controller {index}")))
}

/// As many buffers of that size, made before the load so that making them is no part of it.
fn buffers<P: Platform>(
    controller: &dyn AnyController<P>,
    count: usize,
    bytes: usize,
) -> Result<Vec<Buffer<P::Pool>, MOST>, Reason> {
    (0..count.min(MOST)).map(|_| Buffer::new(controller.pool(), bytes).map_err(Reason::new)).collect()
}

/// Awaits what is in flight, so that the buffers come home before the error does.
fn drained<P: Platform>(controller: &mut dyn AnyController<P>, reason: Reason) -> Reason {
    while controller.wait().is_some() {}
    reason
}
