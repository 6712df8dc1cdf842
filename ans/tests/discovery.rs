//! Device trees of real shape, and every way in which they can be wrong.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed, and says where")]

use ans::discovery::{Block, Description, DiscoveryError};
use ans::sart::Version;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use hal::fdt::{CpuAddress, FdtError, Label, Region, Slot, Tree};
use proptest::prelude::*;
use zerocopy::IntoBytes;

const STORAGE: &str = "/soc/nvme@27bcc0000";
const SART: &str = "/soc/iommu@27bc50000";
const MAILBOX: &str = "/soc/mbox@277408000";
const MANAGER: &str = "/soc/power-management@23b700000";

/// Phandles of the nodes that others name.
#[derive(Clone, Copy)]
struct Phandles {
    ans: u32,
    port: u32,
    bridge: u32,
    reference: u32,
    sart: u32,
    mailbox: u32,
}

const PLAIN: Phandles = Phandles { ans: 1, port: 2, bridge: 3, reference: 4, sart: 5, mailbox: 6 };

fn cells(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn strings(values: &[&str]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes().chain([0])).collect()
}

fn node(name: &str, properties: &[(&str, Vec<u8>)]) -> DeviceTreeNode {
    let mut node = DeviceTreeNode::new(name).unwrap();
    for (name, value) in properties {
        node.add_property(DeviceTreeProperty::new(*name, value.clone()).unwrap());
    }
    node
}

fn domain(offset: u32, label: &str, phandle: u32, parents: &[u32]) -> DeviceTreeNode {
    let mut node = node(
        &format!("power-controller@{offset:x}"),
        &[
            ("compatible", strings(&["apple,t8103-pmgr-pwrstate", "apple,pmgr-pwrstate"])),
            ("reg", cells(&[offset, 4])),
            ("#power-domain-cells", cells(&[0])),
            ("#reset-cells", cells(&[0])),
            ("label", strings(&[label])),
            ("phandle", cells(&[phandle])),
        ],
    );
    if !parents.is_empty() {
        node.add_property(DeviceTreeProperty::new("power-domains", cells(parents)).unwrap());
    }
    node
}

fn manager(address: u32, size: u32, domains: Vec<DeviceTreeNode>) -> DeviceTreeNode {
    let mut node = node(
        &format!("power-management@2{address:08x}"),
        &[
            ("compatible", strings(&["apple,t8103-pmgr", "apple,pmgr", "syscon", "simple-mfd"])),
            ("reg", cells(&[2, address, 0, size])),
            ("#address-cells", cells(&[1])),
            ("#size-cells", cells(&[1])),
        ],
    );
    for domain in domains {
        node.add_child(domain);
    }
    node
}

/// The children of an M1's `/soc`, as far as the storage goes, with a second power manager.
fn soc(at: Phandles) -> Vec<DeviceTreeNode> {
    let storage = node(
        "nvme@27bcc0000",
        &[
            ("compatible", strings(&["apple,t8103-nvme-ans2", "apple,nvme-ans2"])),
            ("reg", cells(&[2, 0x7bcc_0000, 0, 0x4_0000, 2, 0x7740_0000, 0, 0x4000])),
            ("reg-names", strings(&["nvme", "ans"])),
            ("mboxes", cells(&[at.mailbox])),
            ("apple,sart", cells(&[at.sart])),
            ("power-domains", cells(&[at.ans, at.port])),
            ("resets", cells(&[at.ans])),
        ],
    );
    let mailbox = node(
        "mbox@277408000",
        &[
            ("compatible", strings(&["apple,t8103-asc-mailbox", "apple,asc-mailbox-v4"])),
            ("reg", cells(&[2, 0x7740_8000, 0, 0x4000])),
            ("#mbox-cells", cells(&[0])),
            ("phandle", cells(&[at.mailbox])),
        ],
    );
    let sart = node(
        "iommu@27bc50000",
        &[
            ("compatible", strings(&["apple,t8103-sart"])),
            ("reg", cells(&[2, 0x7bc5_0000, 0, 0x1_0000])),
            ("phandle", cells(&[at.sart])),
        ],
    );
    let mut reference = domain(0x28, "pcie_ref", at.reference, &[]);
    reference.add_property(DeviceTreeProperty::new("apple,always-on", strings(&[])).unwrap());
    vec![
        storage,
        manager(
            0x3b70_0000,
            0x1_4000,
            vec![
                domain(0x418, "apcie_st", at.port, &[at.bridge, at.ans]),
                domain(0x348, "apcie", at.bridge, &[at.reference]),
                domain(0x3f0, "ans2", at.ans, &[]),
            ],
        ),
        mailbox,
        manager(0x3d28_0000, 0x4000, vec![reference]),
        sart,
    ]
}

fn tree(children: Vec<DeviceTreeNode>) -> DeviceTree {
    let wide = [("#address-cells", cells(&[2])), ("#size-cells", cells(&[2]))];
    let mut soc = node("soc", &wide);
    soc.add_property(DeviceTreeProperty::new("compatible", strings(&["simple-bus"])).unwrap());
    soc.add_property(DeviceTreeProperty::new("ranges", strings(&[])).unwrap());
    for child in children {
        soc.add_child(child);
    }
    let mut tree = DeviceTree::new();
    for (name, value) in wide {
        tree.root.add_property(DeviceTreeProperty::new(name, value).unwrap());
    }
    tree.root.add_child(soc);
    tree
}

fn find(tree: &DeviceTree) -> Result<Description, DiscoveryError> {
    let bytes = tree.to_dtb();
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    words.as_mut_bytes()[..bytes.len()].copy_from_slice(&bytes);
    let mut slots = vec![Slot::EMPTY; 2000];
    Description::find(&Tree::open(&words.as_bytes()[..bytes.len()], &mut slots).unwrap())
}

/// What is found in a good tree that `change` spoiled.
fn spoiled(change: impl FnOnce(&mut DeviceTree)) -> Result<Description, DiscoveryError> {
    let mut tree = tree(soc(PLAIN));
    change(&mut tree);
    find(&tree)
}

fn set(tree: &mut DeviceTree, path: &str, property: &str, value: Vec<u8>) {
    let node = tree.find_node_mut(path).unwrap();
    node.remove_property(property);
    node.add_property(DeviceTreeProperty::new(property, value).unwrap());
}

fn remove(tree: &mut DeviceTree, path: &str, property: &str) {
    tree.find_node_mut(path).unwrap().remove_property(property).unwrap();
}

fn region(address: u64, size: u64) -> Region<CpuAddress> {
    Region { address: CpuAddress(address), size }
}

fn assert_complete(found: &Description) {
    assert_eq!(found.nvme, region(0x2_7bcc_0000, 0x4_0000));
    assert_eq!(found.coprocessor, region(0x2_7740_0000, 0x4000));
    assert_eq!(found.mailbox, region(0x2_7740_8000, 0x4000));
    assert_eq!(found.sart, region(0x2_7bc5_0000, 0x1_0000));
    assert_eq!(found.sart_version, Version::Two);
    let at = |index: usize| {
        let domain = &found.domains[index];
        (found.blocks[domain.block].address.0 + domain.offset as u64, domain.always_on)
    };
    let mut places: Vec<_> = (0..found.domains.len()).map(at).collect();
    assert_eq!(found.attached.iter().map(|index| places[*index].0).collect::<Vec<_>>(), [0x2_3b70_03f0, 0x2_3b70_0418]);
    assert_eq!(places[found.reset].0, 0x2_3b70_03f0);
    for (index, domain) in found.domains.iter().enumerate() {
        assert!(domain.parents.iter().all(|parent| *parent < index), "a parent stands behind its child");
    }
    places.sort_unstable();
    let all = [(0x2_3b70_0348, false), (0x2_3b70_03f0, false), (0x2_3b70_0418, false), (0x2_3d28_0028, true)];
    assert_eq!(places, all);
}

#[test]
fn a_tree_of_an_m1_gives_all_parts_with_domains_of_two_power_managers() {
    assert_complete(&find(&tree(soc(PLAIN))).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn neither_order_of_nodes_nor_phandles_nor_strangers_matter(
        order in Just((0..305usize).collect::<Vec<_>>()).prop_shuffle(),
        numbers in proptest::sample::subsequence((1..400u32).collect::<Vec<_>>(), 6).prop_shuffle(),
    ) {
        let [ans, port, bridge, reference, sart, mailbox] = numbers[..] else { unreachable!() };
        let mut children = soc(Phandles { ans, port, bridge, reference, sart, mailbox });
        children.extend((0..300).map(|number| {
            let compatible = ("compatible", strings(&["apple,unknown", "syscon"]));
            let properties = [compatible, ("reg", cells(&[3, number << 16, 0, 0x4000])), ("phandle", cells(&[1000 + number]))];
            node(&format!("device@3{:08x}", number << 16), &properties)
        }));
        let children = order.iter().map(|index| children[*index].clone()).collect();
        assert_complete(&find(&tree(children)).unwrap());
    }
}

#[test]
fn register_blocks_go_by_name_and_without_names_by_place() {
    let swapped = spoiled(|tree| {
        set(tree, STORAGE, "reg-names", strings(&["ans", "nvme"]));
        set(tree, STORAGE, "reg", cells(&[2, 0x7740_0000, 0, 0x4000, 2, 0x7bcc_0000, 0, 0x4_0000]));
    });
    assert_complete(&swapped.unwrap());
    assert_complete(&spoiled(|tree| remove(tree, STORAGE, "reg-names")).unwrap());
}

#[test]
fn the_kind_of_sart_decides_its_version() {
    for kinds in [&["apple,t6000-sart"][..], &["apple,t8112-sart", "apple,t6000-sart"], &["apple,t8112-sart"]] {
        let found = spoiled(|tree| set(tree, SART, "compatible", strings(kinds))).unwrap();
        assert_eq!(found.sart_version, Version::Three);
    }
    let error = spoiled(|tree| set(tree, SART, "compatible", strings(&["apple,t8140-sart"]))).unwrap_err();
    assert!(matches!(&error, DiscoveryError::Unknown { block: Block::Sart, .. }));
    assert!(error.to_string().contains("apple,t8140-sart"), "{error}");
}

#[test]
fn an_a11_controller_and_an_unknown_mailbox_are_refused_by_name() {
    let error = spoiled(|tree| set(tree, STORAGE, "compatible", strings(&["apple,t8015-nvme-ans2"]))).unwrap_err();
    assert!(matches!(error, DiscoveryError::Unknown { block: Block::Nvme, .. }), "{error}");
    let error = spoiled(|tree| set(tree, MAILBOX, "compatible", strings(&["apple,t8015-asc-mailbox"]))).unwrap_err();
    assert!(matches!(error, DiscoveryError::Unknown { block: Block::Mailbox, .. }), "{error}");
    assert!(error.to_string().contains("apple,t8015-asc-mailbox"), "{error}");
}

#[test]
fn a_storage_that_is_absent_or_disabled_is_not_found() {
    let absent = find(&tree(soc(PLAIN).split_off(1)));
    let disabled = spoiled(|tree| set(tree, STORAGE, "status", strings(&["disabled"])));
    for result in [absent, disabled] {
        let wanted = Label::new("apple,t8103-nvme-ans2");
        assert_eq!(result, Err(DiscoveryError::Tree(FdtError::NoNode { wanted })));
    }
}

#[test]
fn each_missing_property_is_named_with_its_node() {
    for property in ["reg", "mboxes", "apple,sart", "resets"] {
        let error = spoiled(|tree| remove(tree, STORAGE, property)).unwrap_err();
        assert_eq!(error, DiscoveryError::Tree(FdtError::NotFound { node: Label::new("nvme@27bcc0000"), property }));
    }
    for path in [SART, MAILBOX, MANAGER] {
        let error = spoiled(|tree| remove(tree, path, "reg")).unwrap_err();
        let node = Label::new(path.rsplit('/').next().unwrap());
        assert_eq!(error, DiscoveryError::Tree(FdtError::NotFound { node, property: "reg" }));
    }
}

#[test]
fn a_phandle_that_no_node_has_is_named_with_its_property() {
    for property in ["mboxes", "apple,sart", "power-domains", "resets"] {
        let error = spoiled(|tree| set(tree, STORAGE, property, cells(&[77]))).unwrap_err();
        let node = Label::new("nvme@27bcc0000");
        assert_eq!(error, DiscoveryError::Tree(FdtError::BadPhandle { node, property, phandle: 77 }));
    }
}

#[test]
fn what_the_storage_needs_must_be_enabled_and_large_enough() {
    for path in [SART, MAILBOX] {
        let error = spoiled(|tree| set(tree, path, "status", strings(&["disabled"]))).unwrap_err();
        assert!(matches!(error, DiscoveryError::Disabled { .. }), "{error}");
    }
    let error = spoiled(|tree| set(tree, SART, "reg", cells(&[2, 0x7bc5_0000, 0, 0x80]))).unwrap_err();
    assert_eq!(error, DiscoveryError::TooSmall { block: Block::Sart, size: 0x80, needed: 0xc0 });
    let reg = cells(&[2, 0x7bcc_0000, 0, 0x2000, 2, 0x7740_0000, 0, 0x4000]);
    let error = spoiled(|tree| set(tree, STORAGE, "reg", reg)).unwrap_err();
    assert!(matches!(error, DiscoveryError::TooSmall { block: Block::Nvme, size: 0x2000, .. }), "{error}");
}

#[test]
fn domains_in_a_circle_end_in_an_error() {
    let bridge = format!("{MANAGER}/power-controller@348");
    for parents in [&[PLAIN.bridge][..], &[PLAIN.port], &[PLAIN.reference, PLAIN.port]] {
        let error = spoiled(|tree| set(tree, &bridge, "power-domains", cells(parents))).unwrap_err();
        assert!(matches!(error, DiscoveryError::Circle { .. }), "{error}");
    }
}

#[test]
fn a_chain_of_domains_that_does_not_fit_is_refused() {
    let chain = |length: u32| {
        spoiled(|tree| {
            let manager = tree.find_node_mut(MANAGER).unwrap();
            for link in 0..length {
                let parent = (link + 1 < length).then_some(101 + link);
                manager.add_child(domain(0x1000 + 8 * link, "link", 100 + link, parent.as_slice()));
            }
            set(tree, STORAGE, "power-domains", cells(&[PLAIN.ans, 100]));
        })
    };
    assert_eq!(chain(15).unwrap().domains.len(), 16);
    assert!(matches!(chain(16), Err(DiscoveryError::TooMany { .. })));
    assert!(matches!(chain(40), Err(DiscoveryError::TooMany { .. })));
}

#[test]
fn a_domain_that_is_none_or_lies_outside_of_its_manager_is_refused() {
    let error = spoiled(|tree| {
        set(tree, SART, "#power-domain-cells", cells(&[0]));
        set(tree, STORAGE, "power-domains", cells(&[PLAIN.sart]));
    });
    assert_eq!(error, Err(DiscoveryError::NotADomain { node: Label::new("iommu@27bc50000") }));
    let ans = format!("{MANAGER}/power-controller@3f0");
    for offset in [0x1_4000, 0x1_3ffd, 0xffff_fffc, 0x3f2] {
        let error = spoiled(|tree| set(tree, &ans, "reg", cells(&[offset, 4]))).unwrap_err();
        assert!(matches!(error, DiscoveryError::OutsideBlock { .. }), "{offset:#x}: {error}");
    }
}

#[test]
fn a_reset_outside_of_the_storages_domains_is_refused() {
    let error = spoiled(|tree| set(tree, STORAGE, "power-domains", cells(&[PLAIN.bridge]))).unwrap_err();
    assert!(matches!(error, DiscoveryError::ResetWithoutPower { .. }), "{error}");
}
