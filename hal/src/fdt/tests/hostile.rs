//! Trees that are too large, cut off, malformed or mutated.

use proptest::prelude::*;

use super::*;

#[test]
fn a_tree_with_more_nodes_than_slots_is_refused() {
    let blob = machine();
    let mut few = [Slot::EMPTY; 9];
    assert_eq!(Tree::open(&blob, &mut few).map(|_| ()), Err(FdtError::TooManyNodes { limit: 9 }));
    let mut enough = [Slot::EMPTY; 11];
    assert!(Tree::open(&blob, &mut enough).is_ok());
}

#[test]
fn a_tree_of_nodes_below_too_many_others_is_refused() {
    let nested = |depth: usize| {
        let leaf = node("leaf", &[], vec![]);
        build(&[], vec![(2..depth).fold(leaf, |child, _| node("between", &[], vec![child]))])
    };
    let (deepest, deeper) = (nested(open::DEPTH), nested(open::DEPTH + 1));
    let mut slots;
    assert_eq!(open!(deepest, slots).nodes().count(), open::DEPTH);
    let mut slots = [Slot::EMPTY; 64];
    assert_eq!(Tree::open(&deeper, &mut slots).map(|_| ()), Err(FdtError::TooDeep { limit: open::DEPTH }));
}

#[test]
fn every_cut_off_blob_is_refused() {
    for blob in [machine(), with_long_name()] {
        for size in 0..blob.len() {
            let mut cut = blob[..size].to_vec();
            let mut slots = [Slot::EMPTY; 64];
            let opened = Tree::open(&cut, &mut slots).map(|_| ());
            assert!(matches!(opened, Err(FdtError::Truncated { .. })), "{size} bytes: {opened:?}");
            // The same with a header that agrees with the cut.
            if let Some(total) = cut.get_mut(4..8) {
                total.copy_from_slice(&u32::try_from(size).expect("small").to_be_bytes());
            }
            let mut slots = [Slot::EMPTY; 64];
            assert!(Tree::open(&cut, &mut slots).is_err(), "{size} bytes");
        }
    }
}

#[test]
fn other_bytes_are_no_tree() {
    let mut shifted = vec![0];
    shifted.extend_from_slice(&machine());
    assert_eq!(Tree::total_size(&shifted), Err(FdtError::NotATree { seen: 0x00d0_0dfe }));
}

#[test]
fn what_dtoolkit_finds_wrong_is_said() {
    let mut blob = machine();
    blob[23] = 16;
    let mut slots = [Slot::EMPTY; 64];
    let error = Tree::open(&blob, &mut slots).map(|_| ()).expect_err("an old version");
    assert!(error.to_string().contains("version 16"), "{error}");
}

/// A property of an M1's GPU whose name `dtoolkit` refuses: the name of all properties in [`of_tokens`].
const LONG: &str = "apple,fast-die0-proportional-gain";

const BEGIN: u32 = 1;
const END: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const LAST: u32 = 9;
/// The name "x".
const X: u32 = 0x7800_0000;

/// A tree with this structure block.
fn of_tokens(structure: &[u32]) -> Vec<u8> {
    let (structure, mut strings) = (cells(structure), text(LONG));
    strings.push(0);
    let sizes = [structure.len(), strings.len()].map(|size| u32::try_from(size).expect("small"));
    let at = 56 + sizes[0];
    let header = [MAGIC, at + sizes[1], 56, at, 40, 17, 16, 0, sizes[1], sizes[0]];
    [cells(&header), vec![0; 16], structure, strings].concat()
}

fn with_long_name() -> Vec<u8> {
    of_tokens(&[BEGIN, 0, PROPERTY, 4, 0, 5, BEGIN, X, PROPERTY, 1, 0, 0, NOP, END, NOP, BEGIN, X, END, END, LAST])
}

fn open_error(blob: &[u8]) -> Option<FdtError> {
    let mut slots = [Slot::EMPTY; 64];
    Tree::open(blob, &mut slots).err()
}

#[test]
fn a_property_with_a_long_name_does_not_cost_the_tree() {
    let blob = with_long_name();
    assert!(dtoolkit::fdt::Fdt::new(&blob).is_err(), "dtoolkit takes it by now");
    let mut slots;
    let tree = open!(blob, slots);
    assert_eq!(tree.root().cell(LONG), Ok(5));
    assert_eq!(tree.root().children().map(|node| node.property(LONG)).collect::<Vec<_>>(), [Some(&[0][..]), None]);
}

#[test]
fn what_comes_after_a_long_name_is_checked_all_the_same() {
    let after = |tokens: &[u32]| open_error(&of_tokens(&[&[BEGIN, 0, PROPERTY, 4, 0, 5], tokens].concat()));
    assert_eq!(after(&[END, LAST]), None);
    for (tokens, what) in [
        (&[BEGIN, X, END, PROPERTY, 4, 0, 5, END, LAST][..], "a property behind a child"),
        (&[PROPERTY, 64, 0, 5, END, LAST], "a value beyond the end"),
        (&[PROPERTY, u32::MAX, 0, 5, END, LAST], "a value far beyond the end"),
        (&[PROPERTY, 4, 34, 5, END, LAST], "a name beyond the end"),
        (&[BEGIN, 0x7878_7878], "a name without end"),
        (&[BEGIN, 0xff00_0000, END, END, LAST], "a name that is no UTF-8"),
        (&[END, END, LAST], "an end of nothing"),
        (&[BEGIN, X, END, LAST], "a node without end"),
        (&[LAST], "a root without end"),
        (&[END, NOP], "a tree without end"),
        (&[7, END, LAST], "an unknown token"),
        (&[END], "nothing behind the root"),
    ] {
        // Behind the header and the reservations, and never before the tokens that are the same for all.
        assert!(matches!(after(tokens), Some(FdtError::Malformed { offset: 80.. })), "{what}: {:?}", after(tokens));
    }
}

#[test]
fn no_name_of_a_property_may_be_longer_than_the_limit() {
    let named = |length: usize| {
        let mut node = node("gpu", &[], vec![]);
        node.add_property(DeviceTreeProperty::new_unchecked("x".repeat(length), cells(&[5])));
        build(&[], vec![node])
    };
    assert_eq!(open_error(&named(open::LONGEST)), None);
    let error = open_error(&named(open::LONGEST + 1)).expect("too long");
    assert!(error.to_string().contains("name at offset"), "{error}");
}

/// Asks everything; gives the number of nodes of a tree that was opened.
fn visit(bytes: &[u8]) -> Option<usize> {
    let mut slots = [Slot::EMPTY; 64];
    let tree = Tree::open(bytes, &mut slots).ok()?;
    let _ = (tree.boot_arguments(), tree.standard_output().map(|node| node.label()), tree.path("disk/x").is_ok());
    let _ = tree.compatible(&["apple,nvme-ans2", "apple,pmgr"]).map(|node| node.label());
    for node in tree.nodes() {
        assert!(node.children().all(|child| child.parent().map(|parent| parent.slot) == Some(node.slot)));
        for index in 0..3 {
            let _ = (node.reg(index), node.bus_reg(index));
        }
        let _ = node.pci_host();
        let _ = (node.reg_named("ans"), node.cell("phandle"), node.strings("reg-names").count());
        for (property, counter) in
            [("power-domains", Some("#power-domain-cells")), ("mboxes", Some("#mbox-cells")), ("apple,sart", None)]
        {
            let _ = node.references(property, counter).map(|references| references.filter(Result::is_ok).count());
        }
    }
    Some(tree.nodes().count())
}

fn any_good_tree() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![machine(), with_long_name(), pci::virt()])
}

proptest! {
    #[test]
    fn no_mutated_blob_panics(
        mut blob in any_good_tree(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        for (place, value) in changes {
            let place = place.index(blob.len());
            blob[place] = value;
        }
        visit(&blob);
    }

    #[test]
    fn no_mutated_structure_token_panics(
        mut blob in any_good_tree(),
        place in any::<prop::sample::Index>(),
        token in 0u32..12,
        more in any::<u32>(),
    ) {
        let at = (10 + place.index(blob.len() / 4 - 11)) * 4;
        blob[at..at + 8].copy_from_slice(&cells(&[token, more]));
        visit(&blob);
    }

    #[test]
    fn no_random_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        visit(&bytes);
    }

    /// Tokens in any order, with as many ends as there are begins.
    #[test]
    fn of_any_tokens_those_in_a_legal_order_are_a_tree(kinds in prop::collection::vec(BEGIN..=NOP, 0..28)) {
        let (mut tokens, mut depth, mut before_children, mut legal) = (vec![BEGIN, 0], 1, true, true);
        for kind in kinds {
            match kind {
                END if depth == 1 => continue,
                PROPERTY => tokens.extend([PROPERTY, 3, 0, 0]),
                BEGIN => tokens.extend([BEGIN, X]),
                other => tokens.push(other),
            }
            match kind {
                BEGIN => (depth, before_children) = (depth + 1, true),
                END => (depth, before_children) = (depth - 1, false),
                PROPERTY => legal &= before_children,
                _ => {}
            }
        }
        tokens.extend(vec![END; depth]);
        let nodes = tokens.windows(2).filter(|pair| pair[0] == BEGIN).count();
        tokens.push(LAST);
        prop_assert_eq!(visit(&of_tokens(&tokens)), legal.then_some(nodes));
    }
}
