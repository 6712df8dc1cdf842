//! The translation tables: everything at its own address, nothing that is not used.
//!
//! 4 KiB granule, 48 bits of address, four levels; one set of layouts for EL1 and for EL2 with E2H (Arm ARM D8). Tables are
//! entries of one static array, so a table's address gives its index and the walk needs no pointer. Entries only ever go
//! from invalid to valid, which needs no invalidation of the TLB.

use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use aarch64_cpu::registers::{ID_AA64MMFR0_EL1, MAIR_EL1, Readable, SCTLR_EL1, TCR_EL1, TTBR0_EL1, Writeable};
use hal::barrier;

use super::image;

/// Enough for the image, the device tree and a page table for each of about 20 device windows.
const TABLES: usize = 40;
const PAGE: u64 = 4096;
const BLOCK: u64 = 2 << 20;
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;

/// A table of 512 entries. Atomic so that the walker and the processor see whole entries; relaxed loads and stores are
/// plain instructions, which also work while the MMU is off.
#[repr(C, align(4096))]
struct Table([AtomicU64; 512]);

#[unsafe(link_section = ".tables")]
static POOL: [Table; TABLES] = [const { Table([const { AtomicU64::new(0) }; 512]) }; TABLES];

/// What a range of addresses holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Instructions.
    Code,
    /// Memory that is only read.
    Constant,
    /// Memory: write-back, inner shareable.
    Memory,
    /// Device registers, nGnRnE: Apple's fabric answers the early acknowledge (nGnRE) on these blocks with an SError
    /// (`nonposted-mmio` in the device tree).
    Device,
}

// Descriptor bits (Arm ARM D8.3).
const VALID: u64 = 1;
const TABLE_OR_PAGE: u64 = 1 << 1;
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 10;
const PRIVILEGED_NEVER_EXECUTES: u64 = 1 << 53;
const UNPRIVILEGED_NEVER_EXECUTES: u64 = 1 << 54;

// Indices into MAIR_EL1, bits 4:2 of a descriptor.
const MEMORY_INDEX: u64 = 0 << 2;
const DEVICE_INDEX: u64 = 1 << 2;

impl Kind {
    fn attributes(self) -> u64 {
        let data = PRIVILEGED_NEVER_EXECUTES | UNPRIVILEGED_NEVER_EXECUTES;
        ACCESSED
            | match self {
                Self::Code => MEMORY_INDEX | INNER_SHAREABLE | READ_ONLY | UNPRIVILEGED_NEVER_EXECUTES,
                Self::Constant => MEMORY_INDEX | INNER_SHAREABLE | READ_ONLY | data,
                Self::Memory => MEMORY_INDEX | INNER_SHAREABLE | data,
                Self::Device => DEVICE_INDEX | data,
            }
    }
}

/// Why a range could not be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapError {
    /// All tables are in use.
    TablesExhausted { address: u64 },
    /// A part is already mapped as something else.
    Occupied { address: u64 },
    /// Empty, or beyond what the processor can address.
    Unreachable { address: u64, size: u64 },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TablesExhausted { address } => write!(f, "no translation table left to map {address:#x}"),
            Self::Occupied { address } => write!(f, "{address:#x} is already mapped as something else"),
            Self::Unreachable { address, size } => {
                write!(f, "{size:#x} bytes at {address:#x} are outside the processor's address space")
            }
        }
    }
}

/// Adds to the tables. There is one, made at entry.
pub(crate) struct Mapper {
    used: usize,
}

impl Mapper {
    /// Starts with the image's own memory: code, constants, data, stack (its guard page stays out), DMA pool.
    pub(crate) fn with_image() -> Result<Self, MapError> {
        // Table 0 is the root.
        let mut mapper = Self { used: 1 };
        let pool = image::pool();
        for (range, kind) in [
            (image::start()..image::constants(), Kind::Code),
            (image::constants()..image::data(), Kind::Constant),
            (image::data()..image::guard(), Kind::Memory),
            (image::stack()..image::cleared(), Kind::Memory),
            // Coherent with the processor's caches on Apple Silicon (m1n1 does no maintenance for NVMe).
            (pool, Kind::Memory),
        ] {
            mapper.map(range.start as u64..range.end as u64, kind)?;
        }
        Ok(mapper)
    }

    /// Maps every page that `range` touches. Mapping again as the same kind changes nothing.
    pub(crate) fn map(&mut self, range: Range<u64>, kind: Kind) -> Result<(), MapError> {
        let unreachable = MapError::Unreachable { address: range.start, size: range.end.saturating_sub(range.start) };
        if range.start >= range.end || range.end > 1 << address_bits() {
            return Err(unreachable);
        }
        let mut address = range.start & !(PAGE - 1);
        let end = range.end.next_multiple_of(PAGE);
        while address < end {
            let block = address.is_multiple_of(BLOCK) && end - address >= BLOCK;
            self.set(address, if block { 2 } else { 3 }, kind)?;
            address += if block { BLOCK } else { PAGE };
        }
        barrier::full();
        Ok(())
    }

    /// Writes the entry for `address` at `level`.
    fn set(&mut self, address: u64, level: u32, kind: Kind) -> Result<(), MapError> {
        let mut table = 0;
        for above in 0..level {
            table = self.next(table, index(address, above), address)?;
        }
        let leaf = address | kind.attributes() | VALID | if level == 3 { TABLE_OR_PAGE } else { 0 };
        let entry = entry(table, index(address, level));
        match entry.load(Ordering::Relaxed) {
            0 => entry.store(leaf, Ordering::Relaxed),
            present if present == leaf => {}
            _ => return Err(MapError::Occupied { address }),
        }
        Ok(())
    }

    /// The table below an entry, made if there is none.
    fn next(&mut self, table: usize, index: usize, address: u64) -> Result<usize, MapError> {
        let first = &raw const POOL as u64;
        let entry = entry(table, index);
        let present = entry.load(Ordering::Relaxed);
        if present & VALID == 0 {
            if self.used >= TABLES {
                return Err(MapError::TablesExhausted { address });
            }
            let new = self.used;
            self.used += 1;
            entry.store((first + new as u64 * PAGE) | VALID | TABLE_OR_PAGE, Ordering::Relaxed);
            return Ok(new);
        }
        if present & TABLE_OR_PAGE == 0 {
            // A block: the page is inside memory that is mapped as a whole.
            return Err(MapError::Occupied { address });
        }
        Ok(((present & ADDRESS) - first) as usize / PAGE as usize)
    }

    /// Turns the MMU and the caches on.
    pub(crate) fn enable(&self) {
        MAIR_EL1.set(0xff << (8 * (MEMORY_INDEX >> 2)) | 0x00 << (8 * (DEVICE_INDEX >> 2)));
        TTBR0_EL1.set(&raw const POOL as u64);
        TCR_EL1.write(
            TCR_EL1::T0SZ.val(16)
                + TCR_EL1::TG0::KiB_4
                + TCR_EL1::SH0::Inner
                + TCR_EL1::ORGN0::WriteBack_ReadAlloc_WriteAlloc_Cacheable
                + TCR_EL1::IRGN0::WriteBack_ReadAlloc_WriteAlloc_Cacheable
                + TCR_EL1::EPD1::DisableTTBR1Walks
                + TCR_EL1::IPS.val(physical_range()),
        );
        invalidate_translations();
        // On top of what the entry code wrote: the reserved bits stay.
        SCTLR_EL1.set(SCTLR_ENTRY | 1 | 1 << 2 | 1 << 12);
        barrier::synchronize();
    }
}

/// What `entry.s` writes to SCTLR_EL1. Bits 0, 2 and 12 on top of it are MMU, data cache, instruction cache.
const SCTLR_ENTRY: u64 = 0x30d0_0800;

#[expect(clippy::indexing_slicing, reason = "both are bounded by construction; the modulo says so to the compiler")]
fn entry(table: usize, index: usize) -> &'static AtomicU64 {
    let Table(entries) = &POOL[table % TABLES];
    &entries[index % 512]
}

/// The index into the table of `level` (0 to 3).
fn index(address: u64, level: u32) -> usize {
    (address >> (39 - 9 * level) & 0x1ff) as usize
}

/// ID_AA64MMFR0_EL1.PARange, at most 5 (48 bits): more needs the 64 KiB granule or FEAT_LPA2.
fn physical_range() -> u64 {
    ID_AA64MMFR0_EL1.read(ID_AA64MMFR0_EL1::PARange).min(5)
}

fn address_bits() -> u32 {
    match physical_range() {
        0 => 32,
        1 => 36,
        2 => 40,
        3 => 42,
        4 => 44,
        _ => 48,
    }
}

/// Forgets translations that a boot loader may have left, and the instructions cached under them.
fn invalidate_translations() {
    barrier::complete();
    // SAFETY: the MMU is off, so no translation in use is taken away; `tlbi vmalle1` acts on the EL2 regime with E2H.
    unsafe { core::arch::asm!("tlbi vmalle1", "ic iallu", options(nostack, preserves_flags)) };
    barrier::full();
}
