//! Blocks in order, with several commands in flight.

use hal::Platform;
use heapless::Deque;
use nvme::{Buffer, CommandError, Operation, Refused, Request, Ticket};

use crate::any::AnyController;
use crate::command::Span;
use crate::length;
use crate::reason::Reason;

/// Bytes of one command, unless the controller moves less.
const CHUNK: usize = 128 << 10;
/// Commands in flight.
const AHEAD: usize = 4;

/// A command whose data the sink has not had yet.
struct Pending<P: Platform> {
    ticket: Ticket,
    first: u64,
    bytes: usize,
    /// The data, once it is there.
    data: Option<Buffer<P::Pool>>,
}

/// Reads `span` of a namespace and gives it to `sink` in order, piece by piece; no piece is larger than `scratch`.
///
/// # Errors
/// The first command that failed or was refused, or what the sink says. No command of this call is in flight at its end.
pub(crate) fn blocks<P: Platform>(
    controller: &mut dyn AnyController<P>,
    namespace: u32,
    span: Span,
    scratch: &mut [u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let Some(block_size) = controller.namespace(namespace).map(|namespace| namespace.block_size() as usize) else {
        return Err(Reason::new(format_args!("there is no namespace {namespace}")));
    };
    let per_command = (CHUNK.min(controller.identity().transfer) / block_size).max(1) as u64;
    let mut pending: Deque<Pending<P>, AHEAD> = Deque::new();
    let (mut next, mut left) = (span.first, span.count);
    let result = loop {
        // Fill up.
        if left > 0 && !pending.is_full() {
            let count = left.min(per_command);
            match submit(controller, namespace, next, length(count), block_size) {
                Ok(command) => {
                    // There is room: asked above.
                    let _ = pending.push_back(command);
                    (next, left) = (next + count, left - count);
                    continue;
                }
                Err(reason) => break Err(reason),
            }
        }
        // Hand on what is complete, in order.
        if let Some(Pending { data: Some(buffer), bytes, .. }) = pending.front() {
            if let Err(reason) = hand_on(buffer, *bytes, scratch, sink) {
                break Err(reason);
            }
            pending.pop_front();
            continue;
        }
        let Some(completion) = controller.wait() else {
            break if left == 0 && pending.is_empty() { Ok(()) } else { Err(Reason::new("a read never came back")) };
        };
        let command = pending.iter_mut().find(|command| command.ticket == completion.ticket);
        match (completion.result, command) {
            (Ok(()), Some(command)) => command.data = completion.buffer,
            (Err(error), Some(command)) => break Err(failed(command.first, error)),
            (_, None) => break Err(Reason::new("a command came back that nobody sent")),
        }
    };
    // After an error: every wait ends, since commands time out.
    while controller.wait().is_some() {}
    result
}

fn submit<P: Platform>(
    controller: &mut dyn AnyController<P>,
    namespace: u32,
    lba: u64,
    count: usize,
    block_size: usize,
) -> Result<Pending<P>, Reason> {
    let bytes = count * block_size;
    let count = u32::try_from(count).map_err(Reason::new)?;
    let buffer = Buffer::new(controller.pool(), bytes).map_err(Reason::new)?;
    let request = Request { namespace, operation: Operation::Read { lba, count }, buffer: Some(buffer) };
    match controller.submit_on(0, request) {
        Ok(ticket) => Ok(Pending { ticket, first: lba, bytes, data: None }),
        Err(Refused { error, .. }) => Err(Reason::new(format_args!("block {lba}: {error}"))),
    }
}

fn hand_on<D: hal::DmaPool>(
    buffer: &Buffer<D>,
    bytes: usize,
    scratch: &mut [u8],
    sink: &mut dyn FnMut(&[u8]) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let piece = scratch.len().max(1);
    for offset in (0..bytes).step_by(piece) {
        let Some(part) = scratch.get_mut(..piece.min(bytes - offset)) else { break };
        buffer.read_bytes(offset, part);
        sink(part)?;
    }
    Ok(())
}

fn failed(block: u64, error: CommandError) -> Reason {
    Reason::new(format_args!("block {block}: {error}"))
}
