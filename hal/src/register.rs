//! Register descriptors over the bit fields of tock-registers.
//!
//! A descriptor is an offset with a type and the name of its fields. [`Register::of`] binds it to a window and gives an
//! object with tock-registers' own `Readable`, `Writeable` and `ReadWriteable`, so one register map serves hardware, the
//! models and a tracer. (`register_structs!` would make references to device memory, which the compiler may read on its
//! own.)

use core::marker::PhantomData;

use tock_registers::RegisterLongName;
use tock_registers::interfaces::{Readable, Writeable};

use crate::Mmio;

/// A 32-bit register at a fixed offset, with the fields `R` of a `register_bitfields!` block.
pub struct Register<R: RegisterLongName = ()> {
    offset: usize,
    fields: PhantomData<R>,
}

/// A 64-bit register at a fixed offset that is reached as two 32-bit halves, low half first.
pub struct Register64<R: RegisterLongName = ()> {
    offset: usize,
    fields: PhantomData<R>,
}

/// A descriptor bound to a window: what the accesses are made on.
pub struct Bound<'w, M: Mmio, D> {
    window: &'w M,
    offset: usize,
    descriptor: PhantomData<D>,
}

impl<R: RegisterLongName> Register<R> {
    /// Describes the register at `offset` bytes from the window's start.
    pub const fn at(offset: usize) -> Self {
        Self { offset, fields: PhantomData }
    }

    /// The offset in bytes.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Binds the descriptor to a window.
    pub const fn of<'w, M: Mmio>(&self, window: &'w M) -> Bound<'w, M, Self> {
        Bound { window, offset: self.offset, descriptor: PhantomData }
    }
}

impl<R: RegisterLongName> Register64<R> {
    /// Describes the register at `offset` bytes from the window's start.
    pub const fn at(offset: usize) -> Self {
        Self { offset, fields: PhantomData }
    }

    /// The offset in bytes.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Binds the descriptor to a window.
    pub const fn of<'w, M: Mmio>(&self, window: &'w M) -> Bound<'w, M, Self> {
        Bound { window, offset: self.offset, descriptor: PhantomData }
    }
}

impl<M: Mmio, R: RegisterLongName> Readable for Bound<'_, M, Register<R>> {
    type T = u32;
    type R = R;
    fn get(&self) -> u32 {
        self.window.read32(self.offset)
    }
}

impl<M: Mmio, R: RegisterLongName> Writeable for Bound<'_, M, Register<R>> {
    type T = u32;
    type R = R;
    fn set(&self, value: u32) {
        self.window.write32(self.offset, value);
    }
}

impl<M: Mmio, R: RegisterLongName> Readable for Bound<'_, M, Register64<R>> {
    type T = u64;
    type R = R;
    fn get(&self) -> u64 {
        self.window.read_halves(self.offset)
    }
}

impl<M: Mmio, R: RegisterLongName> Writeable for Bound<'_, M, Register64<R>> {
    type T = u64;
    type R = R;
    fn set(&self, value: u64) {
        self.window.write_halves(self.offset, value);
    }
}
