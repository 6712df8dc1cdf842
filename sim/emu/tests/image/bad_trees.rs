//! Trees with one thing wrong: the image says what, and touches no register of the storage.

use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};

use crate::call::{Outcome, file, run};
use crate::mac_mini::{self, ANS2, MAILBOX, NVME, SART};

const NOBODY: u32 = 0x00ab_cdef;

fn node<'t>(tree: &'t mut DeviceTree, path: &str) -> &'t mut DeviceTreeNode {
    tree.find_node_mut(path).unwrap()
}

fn set(tree: &mut DeviceTree, path: &str, name: &str, value: &[u8]) {
    node(tree, path).add_property(DeviceTreeProperty::new_unchecked(name, value));
}

fn remove(tree: &mut DeviceTree, path: &str, name: &str) {
    node(tree, path).remove_property(name).unwrap();
}

fn hand_over(name: &str, bytes: &[u8]) -> Outcome {
    let path = file(&format!("{name}.dtb"), bytes);
    run(name, &["--tree", &path])
}

#[test]
fn a_broken_token_is_named_by_its_place_though_long_names_were_passed_over_before() {
    let mut tree = mac_mini::tree(8 << 30).to_dtb();
    // The last token of the structure block ends the tree; the one before it, the root.
    let field = |at: usize| u32::from_be_bytes(tree[at..at + 4].try_into().unwrap()) as usize;
    let root_end = field(8) + field(36) - 8;
    tree[root_end + 3] = 7;
    hand_over("token", &tree).failed_with(&["device tree", &format!("offset {root_end} ")]).touched_nothing();
}

/// Changes the tree of a Mac mini, and wants these words in the reason.
fn refuses(name: &str, change: impl FnOnce(&mut DeviceTree), words: &[&str]) {
    let mut tree = mac_mini::tree(8 << 30);
    change(&mut tree);
    hand_over(name, &tree.to_dtb()).failed_with(words).touched_nothing();
}

#[test]
fn a_tree_without_storage_or_with_a_disabled_one_is_named() {
    let missing = |tree: &mut DeviceTree| drop(node(tree, "/soc").remove_child("nvme@27bcc0000").unwrap());
    refuses("no-nvme", missing, &["no enabled node", "nvme-ans2"]);
    let disabled = |tree: &mut DeviceTree| set(tree, NVME, "status", b"disabled\0");
    refuses("disabled-nvme", disabled, &["no enabled node", "nvme-ans2"]);
    let bus = |tree: &mut DeviceTree| set(tree, "/soc/nvme@27bcc0000", "compatible", b"apple,t8015-nvme-ans2\0");
    refuses("old-nvme", bus, &["nvme@27bcc0000", "apple,t8015-nvme-ans2"]);
}

#[test]
fn a_missing_or_unknown_sart_is_named() {
    refuses("no-sart", |tree| remove(tree, NVME, "apple,sart"), &["nvme@27bcc0000", "apple,sart", "missing"]);
    let lost = |tree: &mut DeviceTree| set(tree, NVME, "apple,sart", &NOBODY.to_be_bytes());
    refuses("lost-sart", lost, &["nvme@27bcc0000", "apple,sart", "0xabcdef"]);
    let unknown = |tree: &mut DeviceTree| set(tree, SART, "compatible", b"apple,t9999-sart\0");
    refuses("unknown-sart", unknown, &["iommu@27bc50000", "apple,t9999-sart"]);
    let disabled = |tree: &mut DeviceTree| set(tree, SART, "status", b"disabled\0");
    refuses("disabled-sart", disabled, &["iommu@27bc50000", "disabled"]);
    let odd = |tree: &mut DeviceTree| set(tree, NVME, "apple,sart", &[0, 0, 1]);
    refuses("odd-sart", odd, &["nvme@27bcc0000", "apple,sart", "malformed"]);
}

#[test]
fn a_reference_to_nothing_is_named_with_its_number() {
    let lost = NOBODY.to_be_bytes();
    refuses("lost-mailbox", |tree| set(tree, NVME, "mboxes", &lost), &["nvme@27bcc0000", "mboxes", "0xabcdef"]);
    refuses("lost-domain", |tree| set(tree, NVME, "power-domains", &lost), &["power-domains", "0xabcdef"]);
    refuses("lost-reset", |tree| set(tree, NVME, "resets", &lost), &["nvme@27bcc0000", "resets", "0xabcdef"]);
    let parent = |tree: &mut DeviceTree| set(tree, ANS2, "power-domains", &lost);
    refuses("lost-parent", parent, &["power-controller@3f0", "power-domains", "0xabcdef"]);
}

#[test]
fn a_reference_to_a_node_of_another_kind_is_named() {
    let wrong = |label| mac_mini::handle(label).to_be_bytes();
    let mailbox = |tree: &mut DeviceTree| set(tree, NVME, "mboxes", &wrong("sart"));
    // Where a mailbox says how many arguments it takes, this node says nothing.
    refuses("other-mailbox", mailbox, &["iommu@27bc50000", "#mbox-cells"]);
    let domain = |tree: &mut DeviceTree| set(tree, NVME, "power-domains", &wrong("ans-mailbox"));
    refuses("other-domain", domain, &["mbox@277408000", "#power-domain-cells"]);
    let circle = |tree: &mut DeviceTree| set(tree, ANS2, "power-domains", &wrong("apcie_st"));
    refuses("circle", circle, &["power domain", "its own ancestor"]);
}

#[test]
fn a_missing_or_short_reg_is_named() {
    refuses("no-reg", |tree| remove(tree, NVME, "reg"), &["nvme@27bcc0000", "reg", "missing"]);
    refuses("no-mailbox-reg", |tree| remove(tree, MAILBOX, "reg"), &["mbox@277408000", "reg", "missing"]);
    refuses("no-sart-reg", |tree| remove(tree, SART, "reg"), &["iommu@27bc50000", "reg", "missing"]);
    refuses("no-domain-reg", |tree| remove(tree, ANS2, "reg"), &["power-controller@3f0", "reg", "missing"]);
    refuses("short-reg", |tree| set(tree, NVME, "reg", &[0; 13]), &["nvme@27bcc0000", "reg", "malformed"]);
    let small = [0x2_7bcc_0000u64, 0x1000, 0x2_7740_0000, 0x4000].map(u64::to_be_bytes).concat();
    refuses("small-reg", |tree| set(tree, NVME, "reg", &small), &["NVMe controller", "0x1000"]);
    let unnamed = |tree: &mut DeviceTree| set(tree, NVME, "reg-names", b"nvme\0other\0");
    refuses("unnamed-reg", unnamed, &["nvme@27bcc0000", "reg-names"]);
}

#[test]
fn a_tree_without_a_console_is_told_of_on_the_console_of_an_m1() {
    let silent = |tree: &mut DeviceTree| {
        for serial in ["serial@235200000", "serial@235208000", "serial@23520c000"] {
            node(tree, "/soc").remove_child(serial).unwrap();
        }
    };
    refuses("no-console", silent, &["console", "apple,s5l-uart"]);
}

#[test]
fn a_broken_watchdog_is_named_and_the_machine_turns_off_all_the_same() {
    let broken = |tree: &mut DeviceTree| remove(tree, "/soc/watchdog@23d2b0000", "reg");
    refuses("no-watchdog-reg", broken, &["watchdog@23d2b0000", "reg", "missing"]);
}

#[test]
fn what_is_no_tree_is_told_of_on_the_console_of_an_m1() {
    let whole = mac_mini::tree(8 << 30).to_dtb();
    for (name, bytes, words) in [
        ("empty", Vec::new(), &["hand-over", "0x00000000"][..]),
        ("garbage", vec![0x5a; 4096], &["hand-over", "0x5a5a5a5a"]),
        ("cut", whole[..whole.len() / 2].to_vec(), &["device tree"]),
        ("cut-header", whole[..24].to_vec(), &["device tree"]),
        ("huge", [&whole[..4], &[0xff; 4], &whole[8..]].concat(), &["hand-over", "4294967295 bytes"]),
        ("old", [&whole[..27], &[18], &whole[28..]].concat(), &["device tree", "version"]),
    ] {
        hand_over(name, &bytes).failed_with(words).touched_nothing();
    }
}

#[test]
fn a_delay_of_flushes_that_makes_no_sense_is_refused_and_the_storage_taken_down() {
    for (name, value) in
        [("no-delay", &b"0\0"[..]), ("day", b"86400000\0"), ("words", b"soon\0"), ("number", &[0, 0, 3, 0xe8])]
    {
        let mut tree = mac_mini::tree(8 << 30);
        set(&mut tree, "/chosen", "anvil,defer-flushes", value);
        hand_over(&format!("defer-{name}"), &tree.to_dtb())
            .failed_with(&["anvil,defer-flushes", "1 to 60000 milliseconds"]);
    }
}
