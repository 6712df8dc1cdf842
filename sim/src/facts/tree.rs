//! Names in the device trees of these machines (Linux' bindings and device trees, U-Boot).

/// Controllers with linear submission.
pub const NVME: [&str; 2] = ["apple,t8103-nvme-ans2", "apple,nvme-ans2"];
/// The controller of A11, which submits by rings.
pub const NVME_A11: &str = "apple,t8015-nvme-ans2";
/// Mailboxes of an ASC of version 4.
pub const MAILBOX: [&str; 2] = ["apple,asc-mailbox-v4", "apple,t8103-asc-mailbox"];
/// SARTs of version 2.
pub const SART_V2: [&str; 1] = ["apple,t8103-sart"];
/// SARTs of version 3.
pub const SART_V3: [&str; 2] = ["apple,t6000-sart", "apple,t8112-sart"];
/// Power domains.
pub const POWER_DOMAIN: [&str; 2] = ["apple,pmgr-pwrstate", "apple,t8103-pmgr-pwrstate"];
