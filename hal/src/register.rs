//! Register descriptors over the bit fields of tock-registers.
//!
//! A descriptor is an offset with a way of access and the name of its fields. [`Descriptor::of`] binds it to a window and
//! gives an object with tock-registers' own `Readable`, `Writeable` and `ReadWriteable`, so one register map serves
//! hardware, the models and a tracer. (`register_structs!` would make references to device memory, which the compiler may
//! read on its own.)

#[cfg(test)]
mod tests;

use core::marker::PhantomData;

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::{RegisterLongName, UIntLike};

use crate::Mmio;

/// A 32-bit register.
pub type Register<R = ()> = Descriptor<Single32, R>;

/// A 64-bit register that is reached as two 32-bit halves, low half first.
pub type Register64<R = ()> = Descriptor<Halves, R>;

/// A 64-bit register that is reached in one access, because half of it means nothing (mailbox words).
pub type Word64<R = ()> = Descriptor<Single64, R>;

/// How a register is reached: its width, and the accesses that one read or write is made of.
pub trait Access {
    /// The register's content.
    type Value: UIntLike;

    /// Reads the register at `offset` bytes in `window`.
    fn read(window: &impl Mmio, offset: usize) -> Self::Value;

    /// Writes the register at `offset` bytes in `window`.
    fn write(window: &impl Mmio, offset: usize, value: Self::Value);
}

macro_rules! access {
    ($(#[$what:meta])* $name:ident: $value:ty, $read:ident, $write:ident) => {
        $(#[$what])*
        pub enum $name {}

        impl Access for $name {
            type Value = $value;
            #[inline(always)]
            fn read(window: &impl Mmio, offset: usize) -> $value {
                window.$read(offset)
            }
            #[inline(always)]
            fn write(window: &impl Mmio, offset: usize, value: $value) {
                window.$write(offset, value);
            }
        }
    };
}

access!(
    /// One 32-bit access.
    Single32: u32, read32, write32
);
access!(
    /// Two 32-bit accesses, low half first.
    Halves: u64, read_halves, write_halves
);
access!(
    /// One 64-bit access.
    Single64: u64, read64, write64
);

/// A register at a fixed offset, reached as `A` says, with the fields `R` of a `register_bitfields!` block.
pub struct Descriptor<A, R: RegisterLongName = ()> {
    offset: usize,
    kind: PhantomData<(A, R)>,
}

impl<A: Access, R: RegisterLongName> Descriptor<A, R> {
    /// Describes the register at `offset` bytes from the window's start.
    pub const fn at(offset: usize) -> Self {
        Self { offset, kind: PhantomData }
    }

    /// The offset in bytes.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Binds the descriptor to a window.
    pub const fn of<'w, M: Mmio>(&self, window: &'w M) -> Bound<'w, M, A, R> {
        Bound { window, offset: self.offset, kind: PhantomData }
    }
}

/// A descriptor bound to a window: what the accesses are made on.
pub struct Bound<'w, M: Mmio, A, R: RegisterLongName = ()> {
    window: &'w M,
    offset: usize,
    kind: PhantomData<(A, R)>,
}

impl<M: Mmio, A: Access, R: RegisterLongName> Readable for Bound<'_, M, A, R> {
    type T = A::Value;
    type R = R;
    #[inline(always)]
    fn get(&self) -> A::Value {
        A::read(self.window, self.offset)
    }
}

impl<M: Mmio, A: Access, R: RegisterLongName> Writeable for Bound<'_, M, A, R> {
    type T = A::Value;
    type R = R;
    #[inline(always)]
    fn set(&self, value: A::Value) {
        A::write(self.window, self.offset, value);
    }
}
