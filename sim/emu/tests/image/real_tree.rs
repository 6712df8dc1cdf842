//! The image with a real machine's whole tree.

use std::collections::BTreeSet;

use dtoolkit::model::DeviceTreeNode;
use dtoolkit::{Node, Property};

use crate::call::{file, run};
use crate::mac_mini;

/// All nodes, with their depth.
fn nodes(node: &DeviceTreeNode, depth: usize, visit: &mut impl FnMut(&DeviceTreeNode, usize)) {
    visit(node, depth);
    node.children().for_each(|child| nodes(child, depth + 1, visit));
}

#[test]
fn the_tree_is_as_large_and_as_deep_as_a_real_one_and_no_two_nodes_share_a_phandle() {
    let tree = mac_mini::tree(16 << 30);
    let (mut count, mut deepest, mut longest) = (0, 0, 0);
    let (mut phandles, mut ascending, mut last) = (BTreeSet::new(), true, 0);
    nodes(&tree.root, 1, &mut |node, depth| {
        (count, deepest) = (count + 1, deepest.max(depth));
        longest = node.properties().map(|property| property.name().len()).fold(longest, usize::max);
        let Some(phandle) = node.property("phandle") else { return };
        let phandle = u32::from_be_bytes(phandle.value().try_into().unwrap());
        assert!(phandles.insert(phandle), "{} shares its phandle", node.name());
        (ascending, last) = (ascending && phandle > last, phandle);
    });
    assert!(count > 400 && deepest == 8 && longest > 31, "{count} nodes, {deepest} deep, names of {longest}");
    assert!(!ascending);
}

#[test]
fn the_image_reads_the_disk_with_the_tree_of_a_real_machine_of_any_memory() {
    for gibibytes in [8u64, 16] {
        let name = format!("mac-mini-{gibibytes}");
        let tree = file(&format!("{name}.dtb"), &mac_mini::tree(gibibytes << 30).to_dtb());
        for ans in ["stopped", "running"] {
            let commands = ["--cmd", "info", "--cmd", "namespaces", "--cmd", "read 0 1"];
            let outcome = run(&name, &[&["--tree", &tree, "--ans", ans], &commands[..]].concat()).succeeded();
            for wanted in
                ["Apple Mac mini (M1, 2020)", "memory: 4096 MiB at 0x800000000", "namespace 1:", "00000000  00"]
            {
                assert!(outcome.console.contains(wanted), "{wanted}: {}", outcome.all());
            }
        }
    }
}

#[test]
fn two_runs_with_one_seed_have_the_same_figures_to_the_byte() {
    let tree = file("same.dtb", &mac_mini::tree(8 << 30).to_dtb());
    let run = || {
        let mut json = run("same", &["--tree", &tree, "--seed", "9", "--cmd", "bench randread 20 4"]).succeeded().json;
        json.as_object_mut().unwrap().remove("wall_ms").unwrap();
        json
    };
    assert_eq!(run(), run());
}
