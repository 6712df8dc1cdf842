//! Partition types by name.

use gpt_disk_io::gpt_disk_types::{Guid, guid};

/// The types that a Mac's disk holds (AsahiLinux docs, stock-partition-layout), and those that Linux and other systems put
/// beside them (UEFI specification 2.10, Discoverable Partitions Specification).
const NAMES: &[(Guid, &str)] = &[
    (guid!("c12a7328-f81f-11d2-ba4b-00a0c93ec93b"), "EFI System"),
    (guid!("7c3457ef-0000-11aa-aa11-00306543ecac"), "Apple APFS"),
    (guid!("69646961-6700-11aa-aa11-00306543ecac"), "Apple iBoot System Container"),
    (guid!("52637672-7900-11aa-aa11-00306543ecac"), "Apple Recovery"),
    (guid!("48465300-0000-11aa-aa11-00306543ecac"), "Apple HFS+"),
    (guid!("426f6f74-0000-11aa-aa11-00306543ecac"), "Apple boot"),
    (guid!("0fc63daf-8483-4772-8e79-3d69d8477de4"), "Linux filesystem"),
    (guid!("b921b045-1df0-41c3-af44-4c6f280d3fae"), "Linux root (arm64)"),
    (guid!("bc13c2ff-59e6-4262-a352-b275fd6f7172"), "Linux extended boot"),
    (guid!("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"), "Linux swap"),
    (guid!("e6d6d379-f507-44c2-a23c-238f2a3df928"), "Linux LVM"),
    (guid!("a19d880f-05fc-4d3b-a006-743f0f84911e"), "Linux RAID"),
    (guid!("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7"), "Microsoft basic data"),
    (guid!("e3c9e316-0b5c-4db8-817d-f92df00215ae"), "Microsoft reserved"),
    (guid!("21686148-6449-6e6f-744e-656564454649"), "BIOS boot"),
    (guid!("024dee41-33e7-11d3-9d69-0008c781f39f"), "MBR partition scheme"),
];

/// The name of a partition type, if it is well known.
pub(super) fn name(kind: Guid) -> Option<&'static str> {
    NAMES.iter().find_map(|(known, name)| (*known == kind).then_some(*name))
}
