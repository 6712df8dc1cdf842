//! Which blocks of code end in WFE.
//!
//! The emulator takes WFE for a hint and tells nobody. But WFE always ends a block, so the block's last instruction
//! tells. A small table remembers the answer for each block; it is corrected whenever the emulator translates anew.

use std::cell::RefCell;
use std::rc::Rc;

use unicorn_engine::{Prot, Unicorn};

use crate::board::Board;

/// WFE, as an instruction word.
const WFE: u32 = 0xd503_205f;
/// Entries of the table: a power of two, enough for the hot blocks of any image.
const ENTRIES: usize = 8192;
/// An address that no block has.
const EMPTY: u64 = 1;

#[derive(Clone, Copy)]
struct Entry {
    address: u64,
    wfe: bool,
}

/// The table, shared with the call-back for translations.
#[derive(Clone)]
pub(crate) struct Cache(Rc<RefCell<Vec<Entry>>>);

impl Cache {
    fn index(address: u64) -> usize {
        // Masked to the table's size, so that the cast loses nothing.
        usize::try_from(address >> 2 & (ENTRIES as u64 - 1)).unwrap_or(0)
    }

    /// The block at `address` was translated anew.
    pub(crate) fn forget(&self, address: u64) {
        if let Some(entry) = self.0.borrow_mut().get_mut(Self::index(address)) {
            entry.address = EMPTY;
        }
    }
}

/// The table as the call-back for blocks uses it.
pub(crate) struct Sleepers {
    cache: Cache,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        let empty = Entry { address: EMPTY, wfe: false };
        Self { cache: Cache(Rc::new(RefCell::new(vec![empty; ENTRIES]))) }
    }

    pub(crate) fn cache(&self) -> Cache {
        self.cache.clone()
    }

    /// Whether the block that begins ends in WFE.
    #[inline]
    pub(crate) fn ends_in_wfe(&self, cpu: &Unicorn<'_, Board>, address: u64, bytes: u32) -> bool {
        let mut table = self.cache.0.borrow_mut();
        let Some(entry) = table.get_mut(Cache::index(address)) else { return false };
        if entry.address != address {
            let mut word = [0; 4];
            let last = address.wrapping_add(u64::from(bytes)).wrapping_sub(4);
            let known = cpu.vmem_read(last, Prot::EXEC, &mut word).is_ok();
            *entry = Entry { address, wfe: known && u32::from_le_bytes(word) == WFE };
        }
        entry.wfe
    }
}
