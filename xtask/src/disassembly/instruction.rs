//! The few instructions of A64 that matter here, by their encodings (Arm Architecture Reference Manual, C4.1 and C6.2).

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction(pub(super) u32);

/// What a barrier orders, in the domain that a device belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Loads before it, with loads and stores behind it.
    Loads,
    /// Loads and stores on both sides.
    Full,
}

/// Where an instruction goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// At the following one; after a call too.
    Following,
    /// At the following one, or so many bytes from here.
    Either(i64),
    /// So many bytes from here.
    Jump(i64),
    /// Out of the function, or where a register says.
    Away,
}

impl Instruction {
    /// `LDR` of a 32-bit register, in any form of address; not of a literal.
    pub(super) fn loads_word(self) -> bool {
        self.moves_word(0b01)
    }

    /// `STR` of a 32-bit register, in any form of address.
    pub(super) fn stores_word(self) -> bool {
        self.moves_word(0b00)
    }

    /// Size 32 bits, a general register, `operation` as in the field opc: an immediate that is scaled, is not (and may be written
    /// back), or a register.
    fn moves_word(self, operation: u32) -> bool {
        let common = self.0 & 0xfec0_0000 == 0xb800_0000 | operation << 22;
        let scaled = self.0 & 1 << 24 != 0;
        let [register, form] = [self.0 >> 21 & 1, self.0 >> 10 & 3];
        common && (scaled || register == 0 || form == 0b10)
    }

    /// The name and the strength of `DMB` and `DSB`, if a device keeps to it: it shares memory with the cores in the outer domain,
    /// so that of a smaller one orders nothing for it.
    pub(super) fn barrier(self) -> Option<(&'static str, Strength)> {
        let option = self.0 >> 8 & 0xf;
        let name = match (self.0 & 0xffff_f0ff, option) {
            (0xd503_30bf, 0b0001) => "dmb oshld",
            (0xd503_30bf, 0b0011) => "dmb osh",
            (0xd503_30bf, 0b1101) => "dmb ld",
            (0xd503_30bf, 0b1111) => "dmb sy",
            (0xd503_309f, 0b0001) => "dsb oshld",
            (0xd503_309f, 0b0011) => "dsb osh",
            (0xd503_309f, 0b1101) => "dsb ld",
            (0xd503_309f, 0b1111) => "dsb sy",
            _ => return None,
        };
        Some((name, if option & 0b10 == 0 { Strength::Loads } else { Strength::Full }))
    }

    /// Where it goes on.
    pub(super) fn next(self) -> Next {
        let word = self.0;
        if word & 0xfc00_0000 == 0x1400_0000 {
            Next::Jump(offset(word, 0, 26))
        } else if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
            // A condition, or a comparison with zero.
            Next::Either(offset(word, 5, 19))
        } else if word & 0x7e00_0000 == 0x3600_0000 {
            // The test of a bit.
            Next::Either(offset(word, 5, 14))
        } else if is_away(word) {
            Next::Away
        } else {
            Next::Following
        }
    }
}

/// `BR`, `RET`, `ERET`, `BRK` and `UDF`.
fn is_away(word: u32) -> bool {
    let register = word & 0xffff_fc1f;
    register == 0xd61f_0000
        || register == 0xd65f_0000
        || word == 0xd69f_03e0
        || word & 0xffe0_001f == 0xd420_0000
        || word & 0xffff_0000 == 0
}

/// The signed field of `bits` at `low`, counted in instructions, in bytes.
fn offset(word: u32, low: u32, bits: u32) -> i64 {
    let field = i64::from(word >> low) & ((1 << bits) - 1);
    let sign = 1 << (bits - 1);
    ((field ^ sign) - sign) * 4
}
