//! SART: the list of windows through which the coprocessor's own DMA passes. Versions 2 and 3.
//!
//! Registers and rules: Linux sart.c, m1n1 sart.c, U-Boot sart.c, which agree on every bit.

use crate::config::MachineConfig;
use crate::context::Context;
use crate::facts::sart::{self as facts, ALLOW, ENTRIES};
use crate::fault::Fault;
use crate::memory::MemoryFault;

const PAGE: u64 = 1 << facts::PAGE_SHIFT;
/// Bytes from one array of words to the next.
const ARRAY: u64 = facts::PADDR - facts::CONFIG;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    flags: u32,
    address: u32,
    size: u32,
    protected: bool,
}

impl Entry {
    fn holds(&self, start: u64, length: u64) -> bool {
        let base = u64::from(self.address) * PAGE;
        let end = base + u64::from(self.size) * PAGE;
        self.flags == ALLOW && start >= base && start.checked_add(length).is_some_and(|last| last <= end)
    }
}

/// Why the coprocessor's DMA did not happen.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// No window of the list holds the whole range.
    Window,
    /// The windows allow it, but there is no memory.
    Memory(MemoryFault),
}

/// The filter's block.
#[derive(Debug)]
pub(crate) struct Sart {
    version: u8,
    entries: [Entry; ENTRIES],
    power_on: [Entry; ENTRIES],
}

impl Sart {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        let mut entries = [Entry::default(); ENTRIES];
        for (entry, boot) in entries.iter_mut().zip(&config.sart_boot_entries) {
            let pages = |bytes: u64| u32::try_from(bytes / PAGE).unwrap_or(u32::MAX);
            *entry = Entry { flags: ALLOW, address: pages(boot.address), size: pages(boot.size), protected: true };
        }
        if config.has(&Fault::SartFull) {
            for entry in entries.iter_mut().filter(|entry| !entry.protected) {
                *entry = Entry { flags: 0x0f, address: 0x9f0_0000, size: 1, protected: true };
            }
        }
        Self { version: config.sart_version, entries, power_on: entries }
    }

    /// Power loss: what the boot chain put in is there again, all else is gone.
    pub(crate) fn power_loss(&mut self) {
        self.entries = self.power_on;
    }

    pub(crate) fn read(&self, offset: u64) -> u32 {
        let Some((array, index)) = self.place(offset) else { return 0 };
        let entry = self.entries.get(index).copied().unwrap_or_default();
        match (array, self.version) {
            (0, 2) => facts::V2_FLAGS.put32(entry.flags) | facts::V2_SIZE.put32(entry.size),
            (0, _) => entry.flags,
            (1, _) => entry.address,
            (_, 2) => 0,
            _ => entry.size,
        }
    }

    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        let place = format!("sart+{offset:#04x}");
        let version = self.version;
        let Some((array, index)) = self.place(offset) else {
            ctx.violation("sart-unknown-register", place, format!("write of {value:#x}"));
            return;
        };
        let Some(entry) = self.entries.get_mut(index) else { return };
        if entry.protected {
            ctx.violation(
                "sart-protected-entry",
                place,
                format!("entry {index} belongs to the boot chain; {value:#x} was written"),
            );
            return;
        }
        match (array, version) {
            (0, 2) => {
                entry.flags = facts::V2_FLAGS.of32(value);
                entry.size = facts::V2_SIZE.of32(value);
            }
            (0, _) => entry.flags = facts::V3_FLAGS.of32(value),
            (1, _) => {
                // Every driver clears the address of a live entry first when it removes one.
                if entry.flags != 0 && value != 0 && value != entry.address {
                    ctx.violation(
                        "sart-live-entry-moved",
                        &place,
                        format!("entry {index} is open and got address {value:#x}"),
                    );
                }
                entry.address = value;
            }
            (_, 2) => ctx.violation("sart-unknown-register", &place, "version 2 has no size array"),
            _ => {
                if entry.flags != 0 && value != 0 && value != entry.size {
                    ctx.violation(
                        "sart-live-entry-moved",
                        &place,
                        format!("entry {index} is open and got size {value:#x}"),
                    );
                }
                entry.size = facts::V3_SIZE.of32(value);
            }
        }
        if array == 0 && entry.flags != 0 {
            if entry.flags != ALLOW {
                ctx.violation(
                    "sart-flags",
                    &place,
                    format!("flags {:#x} do not open a window, {ALLOW:#x} do", entry.flags),
                );
            }
            if entry.size == 0 {
                ctx.violation("sart-empty-window", &place, format!("entry {index} was opened with size 0"));
            }
        }
    }

    fn place(&self, offset: u64) -> Option<(u64, usize)> {
        let (array, index) = (offset / ARRAY, usize::try_from(offset % ARRAY / facts::STRIDE).ok()?);
        (array < 3).then_some((array, index))
    }

    fn allows(&self, address: u64, length: usize) -> bool {
        self.entries.iter().any(|entry| entry.holds(address, length as u64))
    }

    /// The coprocessor writes memory.
    pub(crate) fn store(&self, ctx: &mut Context<'_>, address: u64, bytes: &[u8]) -> Result<(), Refused> {
        if !self.allows(address, bytes.len()) {
            return Err(Refused::Window);
        }
        ctx.memory.write(address, bytes).map_err(Refused::Memory)
    }

    /// Whether the whole range is open to the coprocessor and is memory.
    pub(crate) fn check(&self, ctx: &mut Context<'_>, address: u64, length: u64) -> Result<(), Refused> {
        if !self.entries.iter().any(|entry| entry.holds(address, length)) {
            return Err(Refused::Window);
        }
        let last = address + length.max(1) - 1;
        for probe in [address, last] {
            ctx.memory.read(probe, &mut [0]).map_err(Refused::Memory)?;
        }
        Ok(())
    }

    /// Records the entries that a driver leaves behind.
    pub(crate) fn finish(&self, ctx: &mut Context<'_>, excused: bool) {
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.protected || entry.flags == 0 {
                continue;
            }
            let address = u64::from(entry.address) * PAGE;
            let detail = format!("entry {index} still opens {address:#x}, {} pages", entry.size);
            if excused {
                ctx.note("sart-entry-left", "sart", detail);
            } else {
                ctx.violation("sart-entry-left", "sart", detail);
            }
        }
    }
}
