//! The data structures that the controller describes itself with.

use super::{ControllerConfig, Namespace};
use crate::facts::identify::{self as facts, BYTES};
use crate::nvme::bits;
use crate::nvme::identify::text;

/// The vendor of QEMU's devices, which nobody takes for hardware.
const VENDOR: u16 = 0x1b36;
/// SQES and CQES: entries of 64 and 16 bytes, no others.
const ENTRY_SIZES: [u8; 2] = [0x66, 0x44];
/// What the EUI64 of a namespace begins with.
const EUI64: u64 = 0x0200_5e00_0000_0000;

/// Identify Controller.
pub(super) fn controller(config: &ControllerConfig, namespaces: u32) -> Vec<u8> {
    let mut page = vec![0; BYTES];
    bits::put(&mut page, facts::VID, &VENDOR.to_le_bytes());
    bits::put(&mut page, facts::SSVID, &VENDOR.to_le_bytes());
    text(&mut page, facts::SN, 20, &config.serial);
    text(&mut page, facts::MN, 40, &config.model);
    text(&mut page, facts::FR, 8, &config.firmware);
    bits::put(&mut page, facts::MDTS, &[config.mdts]);
    bits::put(&mut page, facts::VER, &config.version.to_le_bytes());
    bits::put(&mut page, facts::OAES, &facts::OAES_NAMESPACES.to_le_bytes());
    let doorbells = if config.shadow_doorbells { facts::OACS_DOORBELL_BUFFER } else { 0 };
    bits::put(&mut page, facts::OACS, &bits::low16(doorbells.into()).to_le_bytes());
    bits::put(&mut page, facts::ACL, &[config.abort_limit]);
    bits::put(&mut page, facts::AERL, &[config.event_limit]);
    let effects = if config.effects_log { facts::LPA_EFFECTS } else { 0 };
    let offsets = if config.log_offsets { facts::LPA_OFFSETS } else { 0 };
    bits::put(&mut page, facts::LPA, &[effects | offsets]);
    bits::put(&mut page, facts::ELPE, &[config.error_entries]);
    bits::put(&mut page, facts::SQES, &ENTRY_SIZES[..1]);
    bits::put(&mut page, facts::CQES, &ENTRY_SIZES[1..]);
    bits::put(&mut page, facts::NN, &namespaces.to_le_bytes());
    let optional = &config.optional;
    let commands = [
        (optional.compare, facts::ONCS_COMPARE),
        (optional.dataset_management, facts::ONCS_DATASET),
        (optional.write_zeroes, facts::ONCS_WRITE_ZEROES),
        (optional.save_select, facts::ONCS_SELECT),
        (optional.verify, facts::ONCS_VERIFY),
    ];
    let commands = commands.iter().filter(|(there, _)| *there).fold(0, |all, (_, bit)| all | bit);
    bits::put(&mut page, facts::ONCS, &bits::low16(commands.into()).to_le_bytes());
    let cache = config.write_cache;
    let broadcast = facts::VWC_BROADCAST.put32(cache.broadcast.into()) | u32::from(cache.present);
    for unit in [facts::AWUN, facts::AWUPF] {
        bits::put(&mut page, unit, &config.awupf.to_le_bytes());
    }
    bits::put(&mut page, facts::VWC, &[bits::low8(broadcast.into())]);
    page
}

/// Identify Namespace; all zero for one that is not active.
pub(super) fn namespace(namespace: Option<&Namespace>) -> Vec<u8> {
    let mut page = vec![0; BYTES];
    let Some(namespace) = namespace else { return page };
    for offset in [facts::NSZE, facts::NCAP, facts::NUSE] {
        bits::put(&mut page, offset, &namespace.blocks.to_le_bytes());
    }
    if namespace.deallocated_zeroes {
        bits::put(&mut page, facts::DLFEAT, &[facts::DLFEAT_ZEROES | facts::DLFEAT_WRITE_ZEROES]);
    }
    let protected = if namespace.read_only { facts::NSATTR_PROTECTED } else { 0 };
    bits::put(&mut page, facts::NSATTR, &[protected]);
    bits::put(&mut page, facts::EUI64, &eui64(namespace));
    // NLBAF, FLBAS: one format, number 0, without metadata.
    bits::put(&mut page, facts::LBAF + facts::LBAF_LBADS, &[bits::low8(namespace.block_size.trailing_zeros().into())]);
    page
}

/// What there is to say of a namespace apart from its command set.
pub(super) fn independent(namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; BYTES];
    let features = if namespace.no_cache { facts::INDEPENDENT_NO_CACHE.mask() } else { 0 };
    bits::put(&mut page, facts::INDEPENDENT_NSFEAT, &[bits::low8(features)]);
    page
}

fn eui64(namespace: &Namespace) -> [u8; 8] {
    (EUI64 | u64::from(namespace.id)).to_be_bytes()
}

/// The identification descriptors of a namespace.
pub(super) fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut page = vec![0; BYTES];
    let mut offset = 0;
    let set = if namespace.zoned { facts::COMMAND_SET_ZONED } else { 0 };
    let (eui64, set) = (eui64(namespace), [set]);
    for (kind, data) in [(facts::DESCRIPTOR_EUI64, eui64.as_slice()), (facts::DESCRIPTOR_COMMAND_SET, set.as_slice())] {
        bits::put(&mut page, offset, &[kind, bits::low8(data.len() as u64)]);
        bits::put(&mut page, offset + 4, data);
        offset += 4 + data.len();
    }
    page
}
