//! What is read from good trees, which `dtoolkit` builds.

use super::*;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node as _, Property as _};

fn node(name: &str, properties: &[(&str, Vec<u8>)], children: Vec<DeviceTreeNode>) -> DeviceTreeNode {
    let mut node = DeviceTreeNode::new(name).expect("a valid name");
    for (name, value) in properties {
        node.add_property(DeviceTreeProperty::new(*name, value.clone()).expect("a valid name"));
    }
    for child in children {
        node.add_child(child);
    }
    node
}

fn cells(cells: &[u32]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_be_bytes()).collect()
}

fn text(text: &str) -> Vec<u8> {
    text.into()
}

fn build(properties: &[(&str, Vec<u8>)], children: Vec<DeviceTreeNode>) -> Vec<u8> {
    let mut tree = DeviceTree::new();
    tree.root = node("", properties, children);
    tree.to_dtb()
}

const WIDE: [(&str, u32); 2] = [("#address-cells", 2), ("#size-cells", 2)];

fn wide() -> Vec<(&'static str, Vec<u8>)> {
    WIDE.iter().map(|(name, value)| (*name, cells(&[*value]))).collect()
}

/// The part of an M1's tree that matters here, in small.
fn machine() -> Vec<u8> {
    let domain = |name: &str, phandle, parents: &[u32]| {
        node(
            name,
            &[
                ("reg", cells(&[0x3f0, 4])),
                ("#power-domain-cells", cells(&[0])),
                ("phandle", cells(&[phandle])),
                ("power-domains", cells(parents)),
            ],
            vec![],
        )
    };
    let pmgr = node(
        "power-management@23b700000",
        &[
            ("compatible", text("apple,t8103-pmgr\0apple,pmgr\0syscon\0simple-mfd\0")),
            ("reg", cells(&[2, 0x3b70_0000, 0, 0x14000])),
            ("#address-cells", cells(&[1])),
            ("#size-cells", cells(&[1])),
        ],
        vec![domain("power-controller@418", 1, &[]), domain("power-controller@3f0", 2, &[1])],
    );
    let mailbox = node(
        "mbox@277408000",
        &[("reg", cells(&[2, 0x7740_8000, 0, 0x4000])), ("#mbox-cells", cells(&[0])), ("phandle", cells(&[3]))],
        vec![],
    );
    let nvme = |name: &str, status: &str| {
        node(
            name,
            &[
                ("compatible", text("apple,t8103-nvme-ans2\0apple,nvme-ans2\0")),
                ("reg", cells(&[2, 0x7bcc_0000, 0, 0x40000, 2, 0x7740_0000, 0, 0x4000])),
                ("reg-names", text("nvme\0ans\0")),
                ("mboxes", cells(&[3])),
                ("power-domains", cells(&[2, 1])),
                ("apple,sart", cells(&[9])),
                ("status", text(status)),
            ],
            vec![],
        )
    };
    let mut bus = wide();
    bus.extend([("compatible", text("simple-bus\0")), ("ranges", vec![])]);
    let soc = node(
        "soc",
        &bus,
        vec![pmgr, mailbox, nvme("nvme@1", "disabled\0"), node("bare", &[], vec![]), nvme("nvme@27bcc0000", "okay\0")],
    );
    let mut root = wide();
    root.push(("compatible", text("apple,j274\0apple,t8103\0")));
    let aliases = node("aliases", &[("disk", text("/soc/nvme@27bcc0000\0"))], vec![]);
    let chosen =
        node("chosen", &[("bootargs", text("quiet cmd=disks\0")), ("stdout-path", text("disk:115200n8\0"))], vec![]);
    build(&root, vec![aliases, chosen, soc])
}

macro_rules! open {
    ($blob:expr, $slots:ident) => {{
        $slots = [Slot::EMPTY; 64];
        Tree::open(&$blob, &mut $slots).expect("a good tree")
    }};
}

// Behind the macro, to see it.
mod hostile;
mod pci;

#[test]
fn a_disabled_node_is_passed_over() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    assert_eq!(tree.compatible(&["apple,nvme-ans2"]).expect("present").name(), "nvme@27bcc0000");
}

#[test]
fn every_compatible_string_counts_and_only_whole_ones() {
    let blob = build(
        &[],
        vec![node("asc", &[("compatible", text("iop,ascwrap-v6\0iop,generic\0"))], vec![]), node("x", &[], vec![])],
    );
    let mut slots;
    let tree = open!(blob, slots);
    assert!(tree.compatible(&["iop,ascwrap-v6"]).is_ok());
    assert!(tree.compatible(&["absent", "iop,generic"]).is_ok());
    let error = tree.compatible(&["iop"]).map(|node| node.label()).expect_err("only a part of a string");
    assert_eq!(error.to_string(), "device tree: no enabled node iop");
}

#[test]
fn a_last_string_without_its_nul_does_not_count() {
    let blob = build(&[], vec![node("a", &[("compatible", text("one\0two"))], vec![])]);
    let mut slots;
    let tree = open!(blob, slots);
    assert!(tree.compatible(&["one"]).is_ok());
    assert!(tree.compatible(&["two"]).is_err());
}

#[test]
fn nodes_without_compatible_do_not_end_the_walk() {
    let children = (0..50).map(|number| {
        let name = format!("child@{number}");
        let compatible = [("compatible", text("thing\0"))];
        node(&name, if number % 3 == 0 { &compatible } else { &[] }, vec![])
    });
    let blob = build(&[], children.collect());
    let mut slots;
    let tree = open!(blob, slots);
    assert_eq!(tree.root().children().count(), 50);
    assert_eq!(tree.nodes().filter(|node| node.is_compatible("thing")).count(), 17);
}

#[test]
fn a_missing_property_is_not_found_even_at_the_blobs_end() {
    let blob = build(&[], vec![node("last", &[("a", vec![1, 2, 3])], vec![])]);
    let mut slots;
    let tree = open!(blob, slots);
    let last = tree.path("/last").expect("present");
    assert_eq!(last.cell("absent"), Err(FdtError::NotFound { node: Label::new("last"), property: "absent" }));
    assert_eq!(last.cell("a"), Err(FdtError::BadProperty { node: Label::new("last"), property: "a" }));
}

#[test]
fn the_second_range_translates_too_and_an_address_in_neither_is_refused() {
    let ranges = [0, 0, 2, 0, 1, 0, 0x22, 0, 0x22, 0, 1, 0];
    let mut bus = wide();
    bus.push(("ranges", cells(&ranges)));
    let device = |name: &str, high, low, size| node(name, &[("reg", cells(&[high, low, 0, size]))], vec![]);
    let children = vec![
        device("first", 0, 0x10, 0x10),
        device("second", 0x22, 0x10, 0x10),
        device("neither", 0x30, 0, 0x10),
        device("over", 0, 0xffff_fff8, 0x10),
    ];
    let blob = build(&wide(), vec![node("soc", &bus, children)]);
    let mut slots;
    let tree = open!(blob, slots);
    let reg = |path| tree.path(path).and_then(|node| node.reg(0)).map(|region| region.address);
    assert_eq!(reg("/soc/first"), Ok(CpuAddress(0x2_0000_0010)));
    assert_eq!(reg("/soc/second"), Ok(CpuAddress(0x22_0000_0010)));
    let refused = |address| Err(FdtError::NotTranslatable { bus: Label::new("soc"), address });
    assert_eq!(reg("/soc/neither"), refused(0x30_0000_0000));
    assert_eq!(reg("/soc/over"), refused(0xffff_fff8), "a region has to lie in a range as a whole");
}

#[test]
fn a_bus_address_becomes_a_processor_address_by_the_buses_above() {
    // The figures of a J614s: probes at the untranslated address reset that machine.
    let mut bus = wide();
    bus.push(("ranges", cells(&[0, 0, 2, 0, 4, 0x8000_0000])));
    let ans = node("ans", &[("reg", cells(&[0, 1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 3, 2, 0x0dcc_0000, 0, 0x40000]))], vec![]);
    let blob = build(&wide(), vec![node("arm-io", &bus, vec![ans])]);
    let mut slots;
    let tree = open!(blob, slots);
    let ans = tree.path("/arm-io/ans").expect("present");
    assert_eq!(ans.bus_reg(3), Ok(Region { address: BusAddress(0x2_0dcc_0000), size: 0x40000 }));
    assert_eq!(ans.reg(3), Ok(Region { address: CpuAddress(0x4_0dcc_0000), size: 0x40000 }));
    assert_eq!(ans.reg(4), Err(FdtError::NotFound { node: Label::new("ans"), property: "reg" }));
}

#[test]
fn no_ranges_means_no_way_and_empty_ranges_mean_the_same_address() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    let domain = tree.phandle(2).expect("present");
    assert_eq!(domain.bus_reg(0).map(|region| region.address), Ok(BusAddress(0x3f0)));
    let bus = Label::new("power-management@23b700000");
    assert_eq!(domain.reg(0), Err(FdtError::NotTranslatable { bus, address: 0x3f0 }));
    let pmgr = domain.parent().expect("not the root");
    assert_eq!(pmgr.reg(0), Ok(Region { address: CpuAddress(0x2_3b70_0000), size: 0x14000 }));
}

#[test]
fn addresses_that_overflow_are_errors() {
    let mut bus = wide();
    bus.push(("ranges", cells(&[0, 0, u32::MAX, u32::MAX - 1, 1, 0])));
    let moved = node("moved", &[("reg", cells(&[0, 0x1000, 0, 0x1000]))], vec![]);
    let own = node("own", &[("reg", cells(&[u32::MAX, u32::MAX, 0, 2]))], vec![]);
    let blob = build(&wide(), vec![node("soc", &bus, vec![moved, own])]);
    let mut slots;
    let tree = open!(blob, slots);
    let reg = |path| tree.path(path).and_then(|node| node.reg(0));
    assert_eq!(reg("/soc/moved"), Err(FdtError::BadProperty { node: Label::new("soc"), property: "ranges" }));
    assert_eq!(reg("/soc/own"), Err(FdtError::BadProperty { node: Label::new("own"), property: "reg" }));
}

#[test]
fn cell_counts_that_make_no_address_are_errors() {
    let reg = |counts: Vec<u8>| {
        let bus = [("#address-cells", counts), ("#size-cells", cells(&[1])), ("ranges", vec![])];
        let device = node("device", &[("reg", cells(&[1; 12]))], vec![]);
        let blob = build(&wide(), vec![node("soc", &bus, vec![device])]);
        let mut slots;
        let tree = open!(blob, slots);
        tree.path("/soc/device").and_then(|device| device.reg(0))
    };
    assert_eq!(reg(cells(&[2])), Ok(Region { address: CpuAddress(0x1_0000_0001), size: 1 }));
    let bad = |node, property| Err(FdtError::BadProperty { node: Label::new(node), property });
    for count in [0, 3, u32::MAX] {
        assert_eq!(reg(cells(&[count])), bad("device", "reg"), "{count}");
    }
    assert_eq!(reg(cells(&[2, 2])), bad("soc", "#address-cells"));
}

#[test]
fn reg_names_choose_the_entry() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    let nvme = tree.path("disk").expect("an alias");
    assert_eq!(nvme.reg_named("ans"), Ok(Region { address: CpuAddress(0x2_7740_0000), size: 0x4000 }));
    assert_eq!(nvme.reg_named("nvme").map(|region| region.address), Ok(CpuAddress(0x2_7bcc_0000)));
    assert!(matches!(nvme.reg_named("an"), Err(FdtError::NotFound { property: "reg-names", .. })));
}

#[test]
fn references_are_followed_and_a_wrong_one_is_named() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    let nvme = tree.compatible(&["apple,nvme-ans2"]).expect("present");
    let domains = nvme.references("power-domains", Some("#power-domain-cells")).expect("cells");
    let names: Vec<_> = domains.map(|domain| domain.expect("a node").node.name()).collect();
    assert_eq!(names, ["power-controller@3f0", "power-controller@418"]);
    let mailbox = nvme.reference("mboxes", Some("#mbox-cells"), 0).expect("present");
    assert_eq!(mailbox.node.name(), "mbox@277408000");
    let error = nvme.reference("apple,sart", None, 0).map(|reference| reference.node.label());
    assert_eq!(
        error.expect_err("no node 9").to_string(),
        "device tree: nvme@27bcc0000: apple,sart names phandle 0x9, which no node has"
    );
    assert_eq!(nvme.references("resets", Some("#reset-cells")).expect("absent is empty").count(), 0);
    assert!(matches!(nvme.reference("mboxes", Some("#mbox-cells"), 1), Err(FdtError::NotFound { .. })));
}

#[test]
fn arguments_are_counted_by_the_named_node() {
    let target = |name: &str, phandle, count| {
        node(name, &[("phandle", cells(&[phandle])), ("#x-cells", cells(&[count]))], vec![])
    };
    let user = |name: &str, list: &[u32]| node(name, &[("x", cells(list))], vec![]);
    let blob = build(
        &[],
        vec![
            target("none", 1, 0),
            target("two", 2, 2),
            target("many", 3, u32::MAX),
            user("good", &[2, 7, 8, 1, 2, 9, 10]),
            user("short", &[1, 2, 7]),
            user("greedy", &[3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ],
    );
    let mut slots;
    let tree = open!(blob, slots);
    let list = |path| -> Vec<Result<Vec<u32>, FdtError>> {
        let user = tree.path(path).expect("present");
        let references = user.references("x", Some("#x-cells")).expect("cells");
        references.map(|each| each.map(|each| each.arguments.to_vec())).collect()
    };
    assert_eq!(list("/good"), [Ok(vec![7, 8]), Ok(vec![]), Ok(vec![9, 10])]);
    let bad = |node| Err(FdtError::BadProperty { node: Label::new(node), property: "x" });
    assert_eq!(list("/short"), [Ok(vec![]), bad("short")]);
    assert_eq!(list("/greedy"), [bad("greedy")]);
}

#[test]
fn chosen_gives_boot_arguments_and_the_console_by_its_alias() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    assert_eq!(tree.boot_arguments(), Some("quiet cmd=disks"));
    assert_eq!(tree.standard_output().map(|node| node.name()), Ok("nvme@27bcc0000"));
    let empty = build(&[], vec![]);
    let mut slots;
    let tree = open!(empty, slots);
    assert_eq!(tree.boot_arguments(), None);
    assert!(matches!(tree.standard_output(), Err(FdtError::NoNode { .. })));
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_console() {
    assert_eq!(Label::new("a\u{1b}[2Jb").to_string(), "a\\u{1b}[2Jb");
}

fn compare(mine: Node<'_>, other: &dtoolkit::fdt::FdtNode<'_>) {
    assert_eq!(mine.name(), other.name());
    for property in other.properties() {
        assert_eq!(mine.property(property.name()), Some(property.value()));
    }
    let children: Vec<_> = mine.children().collect();
    assert_eq!(children.len(), other.children().count());
    for (mine, other) in children.into_iter().zip(other.children()) {
        compare(mine, &other);
    }
}

#[test]
fn the_index_has_every_node_where_the_tree_has_it() {
    let blob = machine();
    let mut slots;
    let tree = open!(blob, slots);
    compare(tree.root(), &dtoolkit::fdt::Fdt::new(&blob).expect("a good tree").root());
    assert_eq!(tree.nodes().count(), 11);
}
