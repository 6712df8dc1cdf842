//! Little-endian fields of registers and structures in memory.

/// Bits 7:0.
pub(crate) fn low8(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// Bits 15:0.
pub(crate) fn low16(value: u64) -> u16 {
    let bytes = value.to_le_bytes();
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// Bits 31:0.
pub(crate) fn low32(value: u64) -> u32 {
    let bytes = value.to_le_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// `value` with its low half replaced.
pub(crate) fn with_low(value: u64, half: u32) -> u64 {
    value >> 32 << 32 | u64::from(half)
}

/// `value` with its high half replaced.
pub(crate) fn with_high(value: u64, half: u32) -> u64 {
    u64::from(low32(value)) | u64::from(half) << 32
}

/// The byte at `offset`; 0 beyond the end.
pub(crate) fn byte(bytes: &[u8], offset: usize) -> u8 {
    bytes.get(offset).copied().unwrap_or(0)
}

/// The 32-bit word at `offset`; 0 beyond the end.
pub(crate) fn word(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

/// The 64-bit word at `offset`; 0 beyond the end.
pub(crate) fn double(bytes: &[u8], offset: usize) -> u64 {
    u64::from(word(bytes, offset)) | u64::from(word(bytes, offset + 4)) << 32
}

/// Puts `value` at `offset`, if it fits there.
pub(crate) fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    if let Some(target) = bytes.get_mut(offset..offset + value.len()) {
        target.copy_from_slice(value);
    }
}

/// A length in bytes as an index.
pub(crate) fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
