//! The data structures that the controller describes itself with (NVMe base specification).

use super::settings::{Namespace, Settings};
use super::{NvmeCounters, bits};
use crate::facts::identify::{self as facts, BYTES};

/// Puts `text` at `offset`, padded with spaces to `width`.
pub(crate) fn text(page: &mut [u8], offset: usize, width: usize, text: &str) {
    let padded = text.bytes().chain(std::iter::repeat(b' ')).take(width).collect::<Vec<_>>();
    bits::put(page, offset, &padded);
}

/// Identify Controller.
pub(super) fn controller(settings: &Settings, namespaces: u32) -> Vec<u8> {
    let identity = &settings.identity;
    let mut page = vec![0; BYTES];
    // VID and SSVID: Apple.
    bits::put(&mut page, facts::VID, &0x106b_u16.to_le_bytes());
    bits::put(&mut page, facts::SSVID, &0x106b_u16.to_le_bytes());
    text(&mut page, facts::SN, 20, &identity.serial);
    text(&mut page, facts::MN, 40, &identity.model);
    text(&mut page, facts::FR, 8, &identity.firmware);
    bits::put(&mut page, facts::MDTS, &[identity.mdts]);
    bits::put(&mut page, facts::VER, &identity.version.to_le_bytes());
    // SQES and CQES: 64 and 16 bytes, no others.
    bits::put(&mut page, facts::SQES, &[0x66]);
    bits::put(&mut page, facts::CQES, &[0x44]);
    bits::put(&mut page, facts::NN, &namespaces.to_le_bytes());
    // ONCS: dataset management and write zeroes.
    bits::put(&mut page, facts::ONCS, &0x000c_u16.to_le_bytes());
    // VWC: present; what a flush of all namespaces does is not indicated before version 1.4.
    bits::put(&mut page, facts::VWC, &[1]);
    page
}

/// Identify Namespace; all zero for one that is not active.
pub(super) fn namespace(namespace: Option<&Namespace>) -> Vec<u8> {
    let mut page = vec![0; BYTES];
    let Some(namespace) = namespace else { return page };
    for offset in [facts::NSZE, facts::NCAP, facts::NUSE] {
        bits::put(&mut page, offset, &namespace.blocks.to_le_bytes());
    }
    // NLBAF, FLBAS: one format, number 0, without metadata.
    bits::put(&mut page, facts::LBAF + facts::LBAF_LBADS, &[bits::low8(namespace.block_size.trailing_zeros().into())]);
    bits::put(&mut page, facts::NSTYPE, &namespace.kind.to_le_bytes());
    page
}

/// The SMART / health log.
pub(super) fn health(page: &mut [u8], counters: &NvmeCounters, unsafe_shutdowns: u64) {
    let commands = |name: &str| counters.commands.get(name).copied().unwrap_or(0);
    // Kelvin; spare and its threshold in percent.
    bits::put(page, 1, &310_u16.to_le_bytes());
    bits::put(page, 3, &[100, 99]);
    // Units of 1000 blocks of 512 bytes, rounded up.
    bits::put(page, 32, &counters.bytes_read.div_ceil(512_000).to_le_bytes());
    bits::put(page, 48, &counters.bytes_written.div_ceil(512_000).to_le_bytes());
    bits::put(page, 64, &commands("read").to_le_bytes());
    bits::put(page, 80, &commands("write").to_le_bytes());
    bits::put(page, 112, &1_u64.to_le_bytes());
    bits::put(page, 144, &unsafe_shutdowns.to_le_bytes());
}
