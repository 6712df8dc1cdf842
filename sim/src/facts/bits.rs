//! Fields of registers, messages and structures.

/// The bits from `high` down to `low`, both included, as the reference writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    high: u32,
    low: u32,
}

impl Bits {
    /// Bits `high:low`; `low <= high < 64`.
    pub const fn at(high: u32, low: u32) -> Self {
        Self { high, low }
    }

    /// One bit.
    pub const fn one(bit: u32) -> Self {
        Self { high: bit, low: bit }
    }

    /// The bits in their place.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (63 - (self.high - self.low)) << self.low
    }

    /// The same in a word of 32 bits.
    pub const fn mask32(self) -> u32 {
        (self.mask() & 0xffff_ffff) as u32
    }

    /// The field's value in `word`.
    pub const fn of(self, word: u64) -> u64 {
        (word & self.mask()) >> self.low
    }

    /// The same of a word of 32 bits.
    pub const fn of32(self, word: u32) -> u32 {
        (word & self.mask32()) >> self.low
    }

    /// `value` in its place; what does not fit is cut off.
    pub const fn put(self, value: u64) -> u64 {
        value << self.low & self.mask()
    }

    /// The same in a word of 32 bits.
    pub const fn put32(self, value: u32) -> u32 {
        value << self.low & self.mask32()
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn a_field_has_its_bits_and_no_others() {
        let field = Bits::at(15, 12);
        assert_eq!((field.mask(), field.of(0xa5c3), field.put(0x17)), (0xf000, 0xa, 0x7000));
        assert_eq!((field.mask32(), field.of32(0xa5c3), field.put32(0x17)), (0xf000, 0xa, 0x7000));
        assert_eq!(Bits::at(63, 0).mask(), u64::MAX);
        assert_eq!(Bits::one(63).mask(), 1 << 63);
    }
}
