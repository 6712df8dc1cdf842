//! What the boot loader handed over in x0.

use boot::reason::Reason;
use hal::fdt::Tree;

use super::translation::{Kind, Mapper};

/// A Linux boot loader hands over at most 2 MiB of device tree (Documentation/arch/arm64/booting.rst).
const LARGEST_TREE: usize = 2 << 20;
/// Revisions of Apple's `boot_args`, whose first 16 bits are the revision (m1n1 `xnuboot.h`).
const BOOT_ARGUMENTS: core::ops::RangeInclusive<u16> = 1..=3;

/// Tells what x0 points at, and maps it if it is a device tree. Runs with the MMU off.
pub(crate) fn take(pointer: usize, mapper: &mut Mapper) -> Result<&'static [u8], Reason> {
    if pointer == 0 {
        return Err(Reason::new("hand-over: x0 is 0, expected a device tree"));
    }
    if !pointer.is_multiple_of(8) {
        return Err(Reason::new(format_args!(
            "hand-over: x0 is {pointer:#x}, not aligned to the 8 bytes of a device tree"
        )));
    }
    // SAFETY: the boot protocol says that x0 points at a device tree (or, from iBoot, at boot arguments), both longer than
    // eight bytes. The MMU is off, so any address of memory can be read.
    let start: [u8; 8] = unsafe { (pointer as *const [u8; 8]).read_volatile() };
    let size = match Tree::total_size(&start) {
        Ok(size) => size,
        Err(error) => {
            let [low, high, ..] = start;
            let revision = u16::from_le_bytes([low, high]);
            return Err(if BOOT_ARGUMENTS.contains(&revision) {
                Reason::new(format_args!(
                    "hand-over: started with boot_args (revision {revision}); the Apple device tree comes later, use m1n1's \
                     Linux payload path, which hands over a flattened one"
                ))
            } else {
                Reason::during("hand-over", error)
            });
        }
    };
    if size > LARGEST_TREE {
        return Err(Reason::new(format_args!("hand-over: a device tree of {size} bytes, more than 2 MiB")));
    }
    let range = pointer as u64..(pointer as u64).saturating_add(size as u64);
    mapper.map(range, Kind::Constant).map_err(|error| Reason::during("hand-over", error))?;
    // SAFETY: mapped read-only just now; the boot loader gave it away, and it is not part of the image or the pool, which
    // are mapped as something else (`map` refuses those).
    Ok(unsafe { core::slice::from_raw_parts(pointer as *const u8, size) })
}
