//! Copies between memory that a device may change and memory that is the program's own.
//!
//! Device memory is only reached through raw pointers and by accesses that the compiler may neither repeat nor invent. The
//! sizes of queue entries go as aligned words, straight from and to registers; all else goes through [`bulk`].

/// Bytes that one round of the block loops moves.
const BLOCK: usize = 64;

/// Whether `size` bytes go as 64-bit words: the sizes of completion entries, PRP entries and commands.
#[inline]
fn is_entry(size: usize) -> bool {
    matches!(size, 8 | 16 | 32 | 64 | 128)
}

/// Copies `bytes` to device memory.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes, and no Rust reference covers them.
#[inline]
pub(super) unsafe fn store(to: *mut u8, bytes: &[u8]) {
    let from = bytes.as_ptr();
    if is_entry(bytes.len()) && to.cast::<u64>().is_aligned() && from.cast::<u64>().is_aligned() {
        for word in 0..bytes.len() / 8 {
            let (source, target) = (from.cast::<u64>().wrapping_add(word), to.cast::<u64>().wrapping_add(word));
            // SAFETY: the word lies in `bytes`, and is aligned.
            let value = unsafe { source.read() };
            // SAFETY: as many bytes may be written at `to`, which is aligned.
            unsafe { target.write_volatile(value) };
        }
    } else if let Ok(bytes) = <[u8; 4]>::try_from(bytes)
        && to.cast::<u32>().is_aligned()
    {
        // SAFETY: four bytes may be written at `to`, which is aligned.
        unsafe { to.cast::<u32>().write_volatile(u32::from_ne_bytes(bytes)) };
    } else {
        // SAFETY: the caller vouches for `to`, the slice for `from`; no reference covers what `to` points at, so they are apart.
        unsafe { bulk(to, from, bytes.len()) };
    }
}

/// Copies device memory to `bytes`.
///
/// # Safety
/// `from` is valid for reads of `bytes.len()` bytes, and no Rust reference covers them.
#[inline]
pub(super) unsafe fn load(bytes: &mut [u8], from: *const u8) {
    let to = bytes.as_mut_ptr();
    if is_entry(bytes.len()) && from.cast::<u64>().is_aligned() && to.cast::<u64>().is_aligned() {
        for word in 0..bytes.len() / 8 {
            let (source, target) = (from.cast::<u64>().wrapping_add(word), to.cast::<u64>().wrapping_add(word));
            // SAFETY: as many bytes may be read at `from`, which is aligned.
            let value = unsafe { source.read_volatile() };
            // SAFETY: the word lies in `bytes`, and is aligned.
            unsafe { target.write(value) };
        }
    } else if let Ok(bytes) = <&mut [u8; 4]>::try_from(&mut *bytes)
        && from.cast::<u32>().is_aligned()
    {
        // SAFETY: four bytes may be read at `from`, which is aligned.
        *bytes = unsafe { from.cast::<u32>().read_volatile() }.to_ne_bytes();
    } else {
        // SAFETY: as in `store`, with the sides changed.
        unsafe { bulk(to, from, bytes.len()) };
    }
}

/// Stores words at `to`, in order of address.
///
/// Written out, since a loop stays a loop when one compiles for size, and the words would be built in memory first.
///
/// # Safety
/// `to` is valid for writes of `COUNT` words and aligned, and no Rust reference covers them.
#[inline(always)]
pub(super) unsafe fn store_words<const COUNT: usize>(to: *mut u64, words: [u64; COUNT]) {
    const { assert!(COUNT <= 8, "no more are written out") };
    macro_rules! store {
        ($($index:literal)*) => {
            $(if let Some(word) = words.get($index) {
                // SAFETY: the caller vouches for as many words as there are.
                unsafe { to.wrapping_add($index).write_volatile(*word) };
            })*
        };
    }
    store!(0 1 2 3 4 5 6 7);
}

/// Copies `size` bytes of any alignment.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `size` bytes, and the two do not overlap. On the machine both are
/// Normal memory with alignment checks off, which [`super::PhysicalPool::new`] asks for.
#[inline(never)]
unsafe fn bulk(to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: the caller's own promise.
    let mut done = unsafe { block::copy(to, from, size / BLOCK) };
    while done < size {
        let (source, target) = (from.wrapping_add(done), to.wrapping_add(done));
        if size - done >= 8 && source.cast::<u64>().is_aligned() && target.cast::<u64>().is_aligned() {
            // SAFETY: eight more bytes are valid on both sides, and aligned.
            let value = unsafe { source.cast::<u64>().read_volatile() };
            // SAFETY: as above.
            unsafe { target.cast::<u64>().write_volatile(value) };
            done += 8;
        } else {
            // SAFETY: one more byte is valid.
            let value = unsafe { source.read_volatile() };
            // SAFETY: as above.
            unsafe { target.write_volatile(value) };
            done += 1;
        }
    }
}

/// Fills whole pages with zeroes.
///
/// # Safety
/// `to` is valid for writes of `size` bytes and aligned to [`BLOCK`]; no device and no Rust reference reaches them.
pub(super) unsafe fn zero(to: *mut u8, size: usize) {
    // SAFETY: the caller's own promise.
    let done = unsafe { block::zero(to, size / BLOCK) };
    // SAFETY: `done` is at most `size`, and the rest of the bytes is valid too.
    unsafe { to.wrapping_add(done).write_bytes(0, size - done) };
}

/// Blocks by pairs of registers: the target has no vector registers, and the compiler's own routine moves single words.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod block {
    use super::BLOCK;
    use core::arch::asm;

    /// Copies `blocks` blocks and gives the number of bytes.
    ///
    /// # Safety
    /// As [`super::bulk`].
    #[inline(always)]
    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, blocks: usize) -> usize {
        if blocks != 0 {
            // SAFETY: the loop touches `blocks` blocks on each side, which the caller vouches for.
            unsafe {
                asm!(
                    "2:",
                    "ldp {a}, {b}, [{from}, #16]",
                    "ldp {c}, {d}, [{from}, #32]",
                    "ldp {e}, {f}, [{from}, #48]",
                    "ldp {g}, {h}, [{from}], #64",
                    "stp {a}, {b}, [{to}, #16]",
                    "stp {c}, {d}, [{to}, #32]",
                    "stp {e}, {f}, [{to}, #48]",
                    "stp {g}, {h}, [{to}], #64",
                    "subs {blocks}, {blocks}, #1",
                    "b.ne 2b",
                    from = inout(reg) from => _, to = inout(reg) to => _, blocks = inout(reg) blocks => _,
                    a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
                    e = out(reg) _, f = out(reg) _, g = out(reg) _, h = out(reg) _,
                    options(nostack),
                );
            }
        }
        blocks * BLOCK
    }

    /// Zeroes `blocks` blocks and gives the number of bytes.
    ///
    /// # Safety
    /// As [`super::zero`].
    #[inline(always)]
    pub(super) unsafe fn zero(to: *mut u8, blocks: usize) -> usize {
        if blocks != 0 {
            // SAFETY: the loop writes `blocks` blocks, which the caller vouches for.
            unsafe {
                asm!(
                    "2:",
                    "stp xzr, xzr, [{to}, #16]",
                    "stp xzr, xzr, [{to}, #32]",
                    "stp xzr, xzr, [{to}, #48]",
                    "stp xzr, xzr, [{to}], #64",
                    "subs {blocks}, {blocks}, #1",
                    "b.ne 2b",
                    to = inout(reg) to => _, blocks = inout(reg) blocks => _,
                    options(nostack),
                );
            }
        }
        blocks * BLOCK
    }
}

/// Elsewhere no bytes go as blocks; the plain loops do all of them.
#[cfg(not(all(target_arch = "aarch64", not(miri))))]
mod block {
    /// # Safety
    /// None needed: nothing is touched.
    pub(super) unsafe fn copy(_to: *mut u8, _from: *const u8, _blocks: usize) -> usize {
        0
    }

    /// # Safety
    /// None needed: nothing is touched.
    pub(super) unsafe fn zero(_to: *mut u8, _blocks: usize) -> usize {
        0
    }
}
