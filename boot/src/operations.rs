//! One list of operations for every controller, so that what different controllers make of it can be laid side by side.
//!
//! Each operation prints one line: its name, and what came of it. The lines say nothing in which controllers may rightly
//! differ, such as their limits or how many blocks they have; an optional command that one lacks is `not there`.

mod answers;
mod data;
mod outcome;
mod refusals;
#[cfg(test)]
mod tests;

use core::fmt::Write;

use hal::Platform;
use nvme::{Access, Buffer, CommandError, Identity, Namespace, Operation, Refused, Request};

use self::outcome::{NO_MEMORY, Outcome};
use crate::any::AnyController;
use crate::reason::Reason;

/// Blocks that the list works on; what they held is lost.
pub const BLOCKS: u64 = 64;
/// Blocks that the memory for data on its way has to hold.
const LEAST: usize = 4;

/// The controller, and what every operation has to know.
struct List<'a, P: Platform> {
    controller: &'a mut dyn AnyController<P>,
    identity: Identity,
    namespace: Namespace,
    /// The first of the list's blocks.
    first: u64,
    scratch: &'a mut [u8],
}

/// An operation: its name, and what does it.
type Entry<'a, P> = (&'static str, fn(&mut List<'a, P>) -> Result<Outcome, Outcome>);

/// Runs the list on the [`BLOCKS`] blocks of a namespace from `first` on, which are armed, and prints a line for each
/// operation. `scratch` holds data on its way: at least four blocks, and the more, the more one call moves.
///
/// # Errors
/// Operations that did not come out as they must on every controller. All of the list was run then.
pub fn run<P: Platform>(
    controller: &mut dyn AnyController<P>,
    namespace: u32,
    first: u64,
    scratch: &mut [u8],
    out: &mut dyn Write,
) -> Result<(), Reason> {
    let Some(namespace) = controller.namespace(namespace).copied() else {
        return Err(Reason::new(format_args!("there is no namespace {namespace}")));
    };
    if scratch.len() < LEAST << namespace.block_shift {
        return Err(Reason::new(format_args!("{} bytes of memory are too few for the list", scratch.len())));
    }
    // Nothing but these blocks may be written meanwhile, whatever else is armed: refusals are a part of the list.
    let narrow = Access::ReadWrite { first, blocks: BLOCKS };
    controller.set_access(namespace.id, narrow).map_err(Reason::new)?;
    let identity = *controller.identity();
    let mut list = List { controller, identity, namespace, first, scratch };
    let mut wrong = 0u32;
    let mut printed = Ok(());
    for (name, operation) in List::<P>::DATA.iter().chain(List::REFUSALS).chain(List::ANSWERS) {
        let outcome = operation(&mut list).unwrap_or_else(|outcome| outcome);
        wrong += u32::from(outcome.is_wrong());
        printed = writeln!(out, "operation: {name}: {outcome}");
        if printed.is_err() {
            break;
        }
    }
    controller.set_access(namespace.id, namespace.access).map_err(Reason::new)?;
    printed.map_err(Reason::new)?;
    match wrong {
        0 => Ok(()),
        _ => Err(Reason::new(format_args!("{wrong} operations did not come out as they must"))),
    }
}

impl<P: Platform> List<'_, P> {
    fn id(&self) -> u32 {
        self.namespace.id
    }

    /// Blocks of one command, at most; a count in a command has 16 bits.
    fn limit(&self) -> u32 {
        u32::try_from(self.identity.transfer >> self.namespace.block_shift)
            .map_or(1 << 16, |blocks| blocks.min(1 << 16))
    }

    fn block_size(&self) -> usize {
        self.namespace.block_size() as usize
    }

    /// A buffer of that many blocks.
    fn buffer(&self, blocks: u32) -> Result<Buffer<P::Pool>, Outcome> {
        Buffer::new(self.controller.pool(), blocks as usize * self.block_size()).map_err(|_| NO_MEMORY)
    }

    /// A buffer of that many blocks that begins `offset` bytes behind a page's.
    fn buffer_at(&self, offset: usize, blocks: u32) -> Result<Buffer<P::Pool>, Outcome> {
        let bytes = blocks as usize * self.block_size();
        let whole = Buffer::new(self.controller.pool(), offset + bytes).map_err(|_| NO_MEMORY)?;
        Buffer::part(whole.into_region(), offset, bytes).map_err(|_| NO_MEMORY)
    }

    /// Submits a command that is alone, and awaits its end.
    fn send(
        &mut self,
        operation: Operation,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Result<Option<Buffer<P::Pool>>, Outcome> {
        self.send_to(self.id(), operation, buffer)
    }

    fn send_to(
        &mut self,
        namespace: u32,
        operation: Operation,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Result<Option<Buffer<P::Pool>>, Outcome> {
        let ticket = match self.controller.submit_on(0, Request { namespace, operation, buffer }) {
            Ok(ticket) => ticket,
            Err(Refused { error, .. }) => return Err(Outcome::Refused(error)),
        };
        match self.controller.wait() {
            Some(completion) if completion.ticket == ticket => {
                completion.result?;
                Ok(completion.buffer)
            }
            Some(_) => Err(Outcome::Wrong("the end of another command")),
            None => Err(CommandError::Reset.into()),
        }
    }
}
