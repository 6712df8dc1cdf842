//! Bit fields of a message's payload.

/// The bits `high..=low` of a 64-bit payload, written as the reference writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    low: u32,
    width: u32,
}

impl Field {
    /// The field from bit `high` down to bit `low`, both included; `low <= high < 64`.
    pub const fn new(high: u32, low: u32) -> Self {
        Self { low, width: high - low + 1 }
    }

    /// The largest value that the field can hold.
    pub const fn largest(self) -> u64 {
        u64::MAX >> (u64::BITS - self.width)
    }

    /// The field's value in `payload`.
    pub const fn get(self, payload: u64) -> u64 {
        payload >> self.low & self.largest()
    }

    /// The value of a field of at most 32 bits.
    pub const fn get_u32(self, payload: u64) -> u32 {
        debug_assert!(self.width <= 32);
        (self.get(payload) & 0xffff_ffff) as u32
    }

    /// The value of a field of at most 16 bits.
    pub const fn get_u16(self, payload: u64) -> u16 {
        debug_assert!(self.width <= 16);
        (self.get(payload) & 0xffff) as u16
    }

    /// The payload bits that say `value`, or nothing if the value does not fit: a value is never cut (a cut address
    /// sends the coprocessor's writes to somebody else's memory).
    pub const fn put(self, value: u64) -> Option<u64> {
        if value <= self.largest() { Some(value << self.low) } else { None }
    }

    /// The payload bits that say a value of at most 16 bits in a field that is at least that wide.
    pub const fn put_u16(self, value: u16) -> u64 {
        debug_assert!(self.width >= 16);
        (value as u64) << self.low
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn a_field_gives_back_what_was_put_and_refuses_what_does_not_fit() {
        let field = Field::new(51, 44);
        assert_eq!(field.largest(), 0xff);
        assert_eq!(field.put(0xa5), Some(0xa5 << 44));
        assert_eq!(field.get(u64::MAX), 0xff);
        assert_eq!(field.get(0xa5 << 44), 0xa5);
        assert_eq!(field.put(0x100), None);
        assert_eq!(Field::new(63, 0).put(u64::MAX), Some(u64::MAX));
    }
}
