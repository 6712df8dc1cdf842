//! Why an address did not translate: a walk of the stage 1 tables, for the fault status of an abort.

use unicorn_engine::{RegisterARM64, Unicorn};

use super::system::own;
use crate::board::Board;

/// Fault status codes (ESR_EL1, DFSC and IFSC); the level is added to them.
const TRANSLATION: u64 = 0x04;
const ACCESS_FLAG: u64 = 0x08;
const PERMISSION: u64 = 0x0c;
const ALIGNMENT: u64 = 0x21;

/// The fault status of an access to `address`.
///
/// A mapping that is there leaves permission as the reason; with the MMU off only alignment is left.
pub(crate) fn fault_status(cpu: &Unicorn<'_, Board>, address: u64) -> u64 {
    let control = own(cpu, (3, 0, 1, 0, 0)).unwrap_or(0);
    if control & 1 == 0 {
        return ALIGNMENT;
    }
    let translation = own(cpu, (3, 0, 2, 0, 2)).unwrap_or(0);
    let upper = address >> 55 & 1 == 1;
    // TCR_EL1: T0SZ 5:0, TG0 15:14 (0 = 4K, 1 = 64K, 2 = 16K); T1SZ 21:16, TG1 31:30 (1 = 16K, 2 = 4K, 3 = 64K).
    let (size, granule, table) = if upper {
        let granule = [12, 14, 12, 16].get((translation >> 30 & 3) as usize).copied().unwrap_or(12);
        (translation >> 16 & 0x3f, granule, RegisterARM64::TTBR1_EL1)
    } else {
        let granule = [12, 16, 14, 12].get((translation >> 14 & 3) as usize).copied().unwrap_or(12);
        (translation & 0x3f, granule, RegisterARM64::TTBR0_EL1)
    };
    let input_bits = 64 - size.clamp(16, 48);
    let meant = if upper { u64::MAX } else { 0 };
    if (address ^ meant) >> input_bits != 0 {
        return TRANSLATION;
    }
    // Each level resolves as many bits as a page holds 8-byte entries.
    let stride = granule - 3;
    let levels = (input_bits - granule).div_ceil(stride);
    let mut base = cpu.reg_read(table).unwrap_or(0) & 0x0000_ffff_ffff_fffe;
    for level in 4 - levels..4 {
        let shift = granule + stride * (3 - level);
        let width = if level == 4 - levels { input_bits - shift } else { stride };
        let index = address >> shift & ((1 << width) - 1);
        let mut entry = [0; 8];
        if cpu.mem_read(base + index * 8, &mut entry).is_err() {
            return TRANSLATION + level;
        }
        let entry = u64::from_le_bytes(entry);
        let table = level < 3 && entry & 3 == 3;
        if entry & 1 == 0 || (level == 3 && entry & 2 == 0) {
            return TRANSLATION + level;
        }
        if !table {
            let accessed = entry & 1 << 10 != 0;
            return if accessed { PERMISSION + level } else { ACCESS_FLAG + level };
        }
        base = entry & 0x0000_ffff_ffff_ffff & !((1 << granule) - 1);
    }
    TRANSLATION + 3
}
