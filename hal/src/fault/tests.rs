use super::*;
use crate::testing::FakeWindow;
use crate::trace::Direction::{Read, Write};

fn rule(offset: usize, direction: Direction, first: u32, times: u32, effect: Effect) -> Rule {
    Rule { offset, direction, first, times, effect }
}

#[test]
fn only_the_planned_reads_give_another_value() {
    let fake = FakeWindow::with(&[(0x1c, 1), (0x20, 1)]);
    let window = Fault::new(&fake, [rule(0x1c, Read, 1, 2, Effect::Replace(0xdead))], 0);
    let values: Vec<_> = (0..4).map(|_| window.read32(0x1c)).collect();
    assert_eq!(values, [1, 0xdead, 0xdead, 1]);
    assert_eq!(window.read32(0x20), 1);
    assert_eq!(fake.accesses().len(), 5, "the device saw every read");
}

#[test]
fn a_lost_access_never_reaches_the_device() {
    let fake = FakeWindow::with(&[(0, 5)]);
    let plan = [rule(0, Write, 0, 1, Effect::Lose), rule(0, Read, 0, 1, Effect::Lose)];
    let window = Fault::new(&fake, plan, 0);
    window.write32(0, 9);
    assert_eq!(window.read32(0), u32::MAX);
    assert_eq!(fake.accesses(), []);
    assert_eq!(window.read64(0), 5);
}

#[test]
fn flips_hit_values_in_both_directions() {
    let fake = FakeWindow::with(&[(8, 0b1010)]);
    let plan = [rule(8, Read, 0, 1, Effect::Flip(0b11)), rule(8, Write, 0, 1, Effect::Flip(1 << 63))];
    let window = Fault::new(&fake, plan, 0);
    assert_eq!(window.read32(8), 0b1001);
    window.write64(8, 1);
    assert_eq!(window.into_inner().accesses().last(), Some(&(Write, 8, 8, 1 << 63 | 1)));
}

#[test]
fn the_same_seed_flips_the_same_bits_and_another_seed_others() {
    let run = |seed| {
        let window = Fault::new(FakeWindow::default(), [rule(0, Read, 0, u32::MAX, Effect::FlipAny)], seed);
        (0..16).map(|_| window.read32(0)).collect::<Vec<_>>()
    };
    assert!(run(1).iter().all(|value| value.count_ones() == 1));
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
