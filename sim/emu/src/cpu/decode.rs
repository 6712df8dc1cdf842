//! Loads and stores, decoded as far as an abort needs it: the virtual address, and whether it was a store.
//!
//! The emulator's call-backs name the physical address only, and a fault of the MMU names none at all.

/// What an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataAccess {
    pub(crate) address: u64,
    pub(crate) store: bool,
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

fn signed(value: u32, width: u32) -> i64 {
    i64::from((value << (32 - width)).cast_signed() >> (32 - width))
}

/// Decodes `word`, the instruction at `counter`; `register` gives X0 to X30, and SP for 31. `None`: no load or store.
///
/// Encodings: Arm architecture reference manual, "Loads and stores" and "System instructions" of A64.
pub(crate) fn data_access(word: u32, counter: u64, register: impl Fn(u32) -> u64) -> Option<DataAccess> {
    let base = register(bits(word, 5, 5));
    let vector = bits(word, 26, 1) == 1;
    let at = |offset: i64, store: bool| Some(DataAccess { address: base.wrapping_add_signed(offset), store });
    if word & 0xffff_f000 == 0xd508_7000 || word & 0xffff_f000 == 0xd50b_7000 {
        // DC and IC by address: reported as a store, but for the address register.
        return Some(DataAccess { address: register(bits(word, 0, 5)), store: true });
    }
    if word & 0x3b00_0000 == 0x1800_0000 {
        let offset = signed(bits(word, 5, 19), 19) * 4;
        return Some(DataAccess { address: counter.wrapping_add_signed(offset), store: false });
    }
    let load_bit = bits(word, 22, 1) == 1;
    if word & 0x3f00_0000 == 0x0800_0000 || word & 0xbe00_0000 == 0x0c00_0000 {
        // Exclusive, acquire and release; vector structures.
        return at(0, !load_bit);
    }
    if word & 0x3a00_0000 == 0x2800_0000 {
        let opcode = bits(word, 30, 2);
        let scale = 2 + if vector { opcode } else { opcode >> 1 };
        let post_index = bits(word, 23, 2) == 1;
        return at(if post_index { 0 } else { signed(bits(word, 15, 7), 7) << scale }, !load_bit);
    }
    let size = bits(word, 30, 2);
    let opcode = bits(word, 22, 2);
    let scale = if vector { size | (opcode & 2) << 1 } else { size };
    let store = if vector { !load_bit } else { opcode == 0 };
    if word & 0x3b00_0000 == 0x3900_0000 {
        return at(i64::from(bits(word, 10, 12)) << scale, store);
    }
    if word & 0x3b20_0000 == 0x3800_0000 {
        let post_index = bits(word, 10, 2) == 1;
        return at(if post_index { 0 } else { signed(bits(word, 12, 9), 9) }, store);
    }
    match word & 0x3b20_0c00 {
        // Atomics of the LSE: read and write at once.
        0x3820_0000 => at(0, true),
        0x3820_0800 => {
            let index = register(bits(word, 16, 5));
            let index = if bits(word, 16, 5) == 31 { 0 } else { index };
            let extended = match bits(word, 13, 3) {
                0b010 => index & 0xffff_ffff,
                0b110 => ((index << 32).cast_signed() >> 32).cast_unsigned(),
                _ => index,
            };
            at(extended.cast_signed() << (scale * bits(word, 12, 1)), store)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(word: u32) -> Option<DataAccess> {
        // X1 = 0x1000, X2 = 0xffff_fff8, all others 0.
        data_access(word, 0x8000, |number| match number {
            1 => 0x1000,
            2 => 0xffff_fff8,
            _ => 0,
        })
    }

    #[test]
    fn loads_and_stores_are_found_where_the_manual_says() {
        let load = |address| Some(DataAccess { address, store: false });
        let store = |address| Some(DataAccess { address, store: true });
        assert_eq!(decode(0xb940_1c20), load(0x101c), "ldr w0, [x1, #0x1c]");
        assert_eq!(decode(0xf900_0420), store(0x1008), "str x0, [x1, #8]");
        assert_eq!(decode(0xf81f_8420), store(0x1000), "str x0, [x1], #-8");
        assert_eq!(decode(0xf81f_8c20), store(0x0ff8), "str x0, [x1, #-8]!");
        assert_eq!(decode(0xa9bf_0c20), store(0x0ff0), "stp x0, x3, [x1, #-16]!");
        assert_eq!(decode(0xf862_c820), load(0x0ff8), "ldr x0, [x1, w2, sxtw]");
        assert_eq!(decode(0x5800_0040), load(0x8008), "ldr x0, .+8");
        assert_eq!(decode(0x885f_7c20), load(0x1000), "ldxr w0, [x1]");
        assert_eq!(decode(0xd50b_7e21), store(0x1000), "dc civac, x1");
        assert_eq!(decode(0xd503_201f), None, "nop");
    }
}
