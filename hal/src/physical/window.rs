//! A window of real device registers.

use crate::Mmio;

/// Device registers at a physical address that is mapped one to one (or reached with the MMU off).
#[derive(Debug)]
pub struct PhysicalWindow {
    base: usize,
    size: usize,
}

impl PhysicalWindow {
    /// The window of `size` bytes at `base`.
    ///
    /// # Safety
    /// For the window's whole life, `base .. base + size` is mapped at its own address as Device memory (nGnRnE on Apple
    /// Silicon: soc fabric rejects the early acknowledge for these blocks), belongs to one device, and holds nothing that
    /// the compiler or an allocator knows. `base` is a multiple of 8.
    pub const unsafe fn new(base: usize, size: usize) -> Self {
        Self { base, size }
    }

    /// The address of the first register.
    pub const fn base(&self) -> usize {
        self.base
    }

    /// The size in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The address of an access, if it lies in the window and is aligned (Device memory takes no other).
    #[inline(always)]
    fn place(&self, offset: usize, width: usize) -> Option<usize> {
        let inside = width <= self.size && offset <= self.size - width && offset.is_multiple_of(width);
        debug_assert!(inside, "{width}-byte access at offset {offset:#x} of a window of {:#x} bytes", self.size);
        inside.then(|| self.base + offset)
    }
}

/// An access outside the window touches nothing: a read gives all ones, as an empty bus does, and a write is dropped.
impl Mmio for PhysicalWindow {
    #[inline(always)]
    fn read32(&self, offset: usize) -> u32 {
        match self.place(offset, 4) {
            // SAFETY: `place` gave an aligned address in the window, which `new`'s caller vouched for.
            Some(address) => unsafe { access::load32(address) },
            None => u32::MAX,
        }
    }

    #[inline(always)]
    fn write32(&self, offset: usize, value: u32) {
        if let Some(address) = self.place(offset, 4) {
            // SAFETY: as in `read32`.
            unsafe { access::store32(address, value) }
        }
    }

    #[inline]
    fn read64(&self, offset: usize) -> u64 {
        match self.place(offset, 8) {
            // SAFETY: as in `read32`.
            Some(address) => unsafe { access::load64(address) },
            None => u64::MAX,
        }
    }

    #[inline]
    fn write64(&self, offset: usize, value: u64) {
        if let Some(address) = self.place(offset, 8) {
            // SAFETY: as in `read32`.
            unsafe { access::store64(address, value) }
        }
    }
}

/// One instruction for each access, in the plain base-register form: a trap on any other (pairs, write-back, vector
/// registers) leaves a hypervisor without the syndrome that tells it what was accessed (Arm ARM, ESR_ELx.ISS.ISV).
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod access {
    use core::arch::asm;

    /// # Safety
    /// `address` may be read as a 32-bit device register.
    #[inline(always)]
    pub(super) unsafe fn load32(address: usize) -> u32 {
        let value;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("ldr {v:w}, [{p}]", v = lateout(reg) value, p = in(reg) address, options(nostack, preserves_flags))
        }
        value
    }

    /// # Safety
    /// `address` may be written as a 32-bit device register.
    #[inline(always)]
    pub(super) unsafe fn store32(address: usize, value: u32) {
        // SAFETY: the caller vouches for the address.
        unsafe { asm!("str {v:w}, [{p}]", v = in(reg) value, p = in(reg) address, options(nostack, preserves_flags)) }
    }

    /// # Safety
    /// `address` may be read as a 64-bit device register.
    #[inline(always)]
    pub(super) unsafe fn load64(address: usize) -> u64 {
        let value;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("ldr {v:x}, [{p}]", v = lateout(reg) value, p = in(reg) address, options(nostack, preserves_flags))
        }
        value
    }

    /// # Safety
    /// `address` may be written as a 64-bit device register.
    #[inline(always)]
    pub(super) unsafe fn store64(address: usize, value: u64) {
        // SAFETY: the caller vouches for the address.
        unsafe { asm!("str {v:x}, [{p}]", v = in(reg) value, p = in(reg) address, options(nostack, preserves_flags)) }
    }
}

/// Elsewhere, where tests run on plain memory: one volatile access each.
#[cfg(not(all(target_arch = "aarch64", not(miri))))]
mod access {
    use core::ptr::with_exposed_provenance_mut as pointer;

    /// # Safety
    /// `address` is valid for an aligned 32-bit read.
    pub(super) unsafe fn load32(address: usize) -> u32 {
        // SAFETY: the caller vouches for the address.
        unsafe { pointer::<u32>(address).read_volatile() }
    }

    /// # Safety
    /// `address` is valid for an aligned 32-bit write.
    pub(super) unsafe fn store32(address: usize, value: u32) {
        // SAFETY: the caller vouches for the address.
        unsafe { pointer::<u32>(address).write_volatile(value) }
    }

    /// # Safety
    /// `address` is valid for an aligned 64-bit read.
    pub(super) unsafe fn load64(address: usize) -> u64 {
        // SAFETY: the caller vouches for the address.
        unsafe { pointer::<u64>(address).read_volatile() }
    }

    /// # Safety
    /// `address` is valid for an aligned 64-bit write.
    pub(super) unsafe fn store64(address: usize, value: u64) {
        // SAFETY: the caller vouches for the address.
        unsafe { pointer::<u64>(address).write_volatile(value) }
    }
}
