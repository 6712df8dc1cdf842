//! Shadow doorbells (Doorbell Buffer Config, NVMe 1.3), the host's side.
//!
//! Host and controller share two pages of 32-bit words. In one the host writes each doorbell instead of the register; in the
//! other the controller writes an event index: how far it has looked by itself. Only a doorbell that passes that index has to
//! be rung by register as well, because only then may the controller have gone to sleep.
//!
//! Each side writes its word and then reads the other's, and both need the full barrier between: without it both can read the
//! old value, the host then rings nothing, and the controller sleeps for good. [`announce`] is all of the host's part, over
//! [`SharedWords`], so that a model checker can run this very function beside the controller's.

use hal::{DmaError, DmaPool};

use crate::buffer::Lent;
use crate::transport::DoorbellBuffers;

/// The two pages, as the host sees them: 32-bit words at a byte offset, each read and written in one access.
pub trait SharedWords {
    /// Makes earlier writes of queue entries visible before a later [`SharedWords::set_shadow`].
    fn publish(&self);

    /// Writes a shadow doorbell.
    fn set_shadow(&self, offset: usize, value: u32);

    /// Orders earlier writes of shadow doorbells before later reads of event indices.
    fn order(&self);

    /// Reads an event index.
    fn event_index(&self, offset: usize) -> u32;
}

/// Whether a doorbell that goes from `old` to `new` passes `event_index`, which is whether it has to be rung: in 16 bits,
/// `event_index` lies in `old..new` (Linux `nvme_dbbuf_need_event`). Indices wrap at the queue's size and not at 65536, which
/// at the wrap rings once too often and never too rarely.
#[inline(always)]
pub const fn passes(event_index: u16, old: u16, new: u16) -> bool {
    new.wrapping_sub(event_index).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Moves a doorbell from `old` to `new`, and tells whether it has to be rung by register too. The two differ, and by less than
/// a lap of the queue.
///
/// The words of both pages are little-endian with the value in bits 15:0; what is above is ignored, since the controller may
/// be hostile.
#[inline(always)]
pub fn announce(words: &impl SharedWords, offset: usize, old: u16, new: u16) -> bool {
    words.publish();
    words.set_shadow(offset, u32::from(new));
    words.order();
    let event_index = words.event_index(offset);
    passes((event_index & 0xffff) as u16, old, new)
}

/// The pages in memory.
pub(super) struct ShadowPages<P: DmaPool> {
    shadow: Lent<P>,
    event_index: Lent<P>,
    pool: P,
    bytes: usize,
    /// The controller has the pages.
    bound: bool,
}

impl<P: DmaPool> ShadowPages<P> {
    /// Takes two pages of `bytes`.
    pub(super) fn new(pool: &P, bytes: usize) -> Result<Self, DmaError> {
        let shadow = Lent::new(pool, bytes, bytes)?;
        match Lent::new(pool, bytes, bytes) {
            Ok(event_index) => Ok(Self { shadow, event_index, pool: pool.clone(), bytes, bound: false }),
            Err(error) => {
                shadow.free();
                Err(error)
            }
        }
    }

    /// The pages, if the controller has them.
    #[inline(always)]
    pub(super) fn bound(&self) -> Option<&Self> {
        self.bound.then_some(self)
    }

    pub(super) fn bind(&mut self) {
        self.bound = true;
    }

    /// The controller was reset, or gets the pages anew.
    pub(super) fn unbind(&mut self) {
        self.bound = false;
    }

    /// The pages, all zero: what is left in them of the controller's former life would suppress doorbells that are needed.
    /// None if the doorbells up to `last` do not fit a page.
    pub(super) fn offer(&mut self, last: usize) -> Option<DoorbellBuffers> {
        self.unbind();
        if last + size_of::<u32>() > self.bytes {
            return None;
        }
        self.shadow.clear();
        self.event_index.clear();
        Some(DoorbellBuffers { shadow: self.shadow.address(), event_index: self.event_index.address() })
    }

    /// Zeroes what the pages say of a queue pair, before its identifiers are used again.
    pub(super) fn clear_pair(&self, doorbells: super::queue::Doorbells) {
        for offset in [doorbells.tail, doorbells.head] {
            self.shadow.write_word(offset, 0);
            self.event_index.write_word(offset, 0);
        }
    }

    /// Gives the pages back. The controller is known to be disabled.
    pub(super) fn release(self) {
        self.shadow.free();
        self.event_index.free();
    }
}

impl<P: DmaPool> SharedWords for ShadowPages<P> {
    #[inline(always)]
    fn publish(&self) {
        self.pool.publish();
    }

    #[inline(always)]
    fn set_shadow(&self, offset: usize, value: u32) {
        self.shadow.write_word(offset, value);
    }

    #[inline(always)]
    fn order(&self) {
        self.pool.order();
    }

    #[inline(always)]
    fn event_index(&self, offset: usize) -> u32 {
        self.event_index.read_word(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_is_rung_exactly_when_it_passes_the_event_index() {
        for (old, new, rung) in [(0u16, 1u16, 0..1), (3, 9, 3..9), (40, 62, 40..62)] {
            for event_index in 0..64 {
                assert_eq!(passes(event_index, old, new), rung.contains(&event_index), "{old} {new} {event_index}");
            }
        }
        // The worked mistake of a device that leaves its index behind while it polls: no ring.
        assert!(!passes(1, 2, 3));
    }

    #[test]
    fn at_the_wrap_of_a_short_queue_it_rings_too_often_and_never_too_rarely() {
        // Depth 64, tail from 62 over the end to 0: both places that were passed ring.
        for (event_index, rung) in [(62, true), (63, true), (0, false), (10, false), (0xffff, true)] {
            assert_eq!(passes(event_index, 62, 0), rung, "{event_index}");
        }
    }

    #[test]
    fn nothing_moved_rings_nothing() {
        assert!((0..=u16::MAX).all(|event_index| !passes(event_index, 7, 7)));
    }
}
