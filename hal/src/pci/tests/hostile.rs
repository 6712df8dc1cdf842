//! Buses that do not behave: each ends in time, and says of each function what is wrong.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::Mmio;

/// Most accesses for one bus: three looks at each of 256 functions, and what is done with those that are wanted.
const FOR_ONE_BUS: usize = 256 * 100;

#[test]
fn a_register_larger_than_its_window_is_said_and_the_others_get_theirs() {
    let small = memory(PciSpace::Memory32, 0x1000_0000, 0x10_0000, 0x5000_0000);
    let large = FakeFunction::bare(0x11).memory32(0, 0x8000).memory32(1, 0x20_0000);
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x10)), (1, large), (2, FakeFunction::nvme(0x12).several())]));
    let found = enumerate::<_, 4>(&fake, &host_with(&[small]), NVME);
    let at: Vec<_> = places(&found).into_iter().map(|(.., at)| at).collect();
    assert_eq!(at, [0x5000_0000, 0x5000_4000], "what the large one had taken was given back");
    assert_eq!(problems(&found), ["pci 00:01.0: no window has room for the 0x200000 bytes of base address register 1"]);
}

#[test]
fn no_room_behind_a_bridge_leaves_the_rest_of_the_bus_as_it_is() {
    let small = memory(PciSpace::Memory32, 0x1000_0000, 0x10_0000, 0x5000_0000);
    let port = |device| FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(device))]));
    let fake = FakeHost::new(bus([(0, port(0x10)), (1, port(0x11)), (2, FakeFunction::nvme(0x12))]));
    let mut found = enumerate::<_, 4>(&fake, &host_with(&[small, HIGH]), NVME);
    let names: Vec<_> = places(&found).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(names, ["01:00.0", "00:02.0"]);
    assert_eq!(problems(&found), ["pci 02:00.0: no window has room for the 0x4000 bytes of base address register 0"]);
    assert_eq!(fake.bus[&8].command() & 7, 0, "the port to nowhere stays closed");
    each_works(&fake, &mut found);
}

#[test]
fn a_host_without_windows_has_no_room() {
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x10))]));
    let none = enumerate::<_, 4>(&fake, &host_with(&[]), NVME);
    assert!(matches!(none.problems[0].reason, Reason::NoRoom { index: 0, size: 0x4000 }));
    let below_a_granule = memory(PciSpace::Memory64, u64::MAX - 0x1_0000, 0x1_0000, 0);
    let none = enumerate::<_, 4>(&fake, &host_with(&[below_a_granule]), NVME);
    assert!(matches!(none.problems[0].reason, Reason::NoRoom { index: 0, size: 0x4000 }));
}

#[test]
fn registers_that_make_no_sense_are_said_and_the_next_function_is_found() {
    let io = FakeFunction::bare(1).word(4, 1, 0xffff_fffc);
    let holes = FakeFunction::bare(2).word(4, 0, 0xff0f_0000);
    let reserved = FakeFunction::bare(3).word(4, 0b010, 0xffff_0000);
    let wide_last = FakeFunction::nvme(4).word(9, 0b100, 0xffff_0000);
    let wide_nothing = FakeFunction::bare(5).word(4, 0b100, 0);
    let half = FakeFunction::nvme(6).word(5, 0, 0x0fff_ffff);
    let huge = FakeFunction::bare(7).word(4, 0b100, 0).word(5, 0, 1 << 31);
    let fixed = FakeFunction::bare(8).word(4, 0xffff_0000, 0);
    let bridge = FakeFunction::nvme(9).word(3, 5 << 16, 0);
    let flags = FakeFunction::bare(10).word(4, 0b1000, 0);
    let functions =
        [FakeFunction::bare(0), io, holes, reserved, wide_last, wide_nothing, half, huge, fixed, bridge, flags];
    let all = functions.into_iter().chain([FakeFunction::nvme(0x10)]);
    let fake = FakeHost::new(bus((0..).zip(all)));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(places(&found), [("00:0b.0".into(), 0x10, 0xc0_0000_0000)]);
    let expected = [
        "pci 00:00.0: base address register 0 is missing",
        "pci 00:01.0: base address register 0 is in I/O space",
        "pci 00:02.0: base address register 0 makes no sense: mask 0xffffffffff0f0000",
        "pci 00:03.0: base address register 0 makes no sense: mask 0xffffffffffff0002",
        "pci 00:04.0: base address register 5 makes no sense: mask 0xffffffffffff0004",
        "pci 00:05.0: base address register 0 makes no sense: mask 0x4",
        "pci 00:06.0: base address register 0 makes no sense: mask 0xfffffffffffc004",
        "pci 00:07.0: no window has room for the 0x8000000000000000 bytes of base address register 0",
        "pci 00:08.0: base address register 0 was given 0x10000000 and has 0xffff0000",
        "pci 00:09.0: header type 5 where 0 was awaited",
        "pci 00:0a.0: base address register 0 makes no sense: mask 0xffffffff00000008",
    ];
    assert_eq!(problems(&found), expected);
}

#[test]
fn further_registers_in_io_space_are_passed_over() {
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x10).word(6, 1, 0xffff_fffc).memory32(3, 0x1000))]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    each_works(&fake, &mut found);
    assert_eq!([6, 7].map(|word| fake.bus[&0].get(word)), [1, 0x1000_0000]);
}

#[test]
fn a_command_register_that_keeps_nothing_is_said() {
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x10).word(1, 0, MEMORY))]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    let refused = found.functions[0].enable().expect_err("it cannot master the bus");
    assert_eq!(refused.to_string(), "pci 00:00.0: command register was given 0x0406 and has 0x0002");
    assert_eq!(fake.bus[&0].command(), 0, "and it is off again");
}

#[test]
fn bus_numbers_run_out_bridge_by_bridge() {
    let port = |device| FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(device))]));
    let fake = FakeHost::new(bus([(0, port(0x10)), (1, port(0x11)), (2, port(0x12)), (3, FakeFunction::nvme(0x13))]));
    let host = PciHost { buses: 0..=2, ..host() };
    let mut found = enumerate::<_, 4>(&fake, &host, NVME);
    let devices: Vec<_> = places(&found).into_iter().map(|(_, device, _)| device).collect();
    assert_eq!(devices, [0x10, 0x11, 0x13]);
    assert_eq!(problems(&found), ["pci 00:02.0: no bus number is left for what is behind this bridge"]);
    each_works(&fake, &mut found);
}

#[test]
fn bridges_below_one_another_end_at_a_depth() {
    let nested = |bridges| {
        let end = bus([(0, FakeFunction::nvme(0x10))]);
        FakeHost::new((0..bridges).fold(end, |behind, _| bus([(0, FakeFunction::bridge(1, behind))])))
    };
    let deepest = nested(DEPTH - 1);
    let mut found = enumerate::<_, 4>(&deepest, &host(), NVME);
    assert_eq!((found.functions.len(), found.problems.len()), (1, 0));
    each_works(&deepest, &mut found);
    let deeper = nested(DEPTH);
    let found = enumerate::<_, 4>(&deeper, &host(), NVME);
    assert_eq!(problems(&found), ["pci 0f:00.0: bridge on the last of 16 buses below one another"]);
}

#[test]
fn a_bridge_that_keeps_no_numbers_is_not_walked() {
    let stuck = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))])).word(6, 0, 0xff);
    let good = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x11))]));
    let fake = FakeHost::new(bus([(0, stuck), (1, good)]));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(problems(&found), ["pci 00:00.0: bridge was given bus numbers 0xff0100 and has 0x000000"]);
    assert_eq!(places(&found), [("01:00.0".into(), 0x11, 0x5000_0000)]);
}

#[test]
fn functions_behind_a_bridge_with_no_room_for_itself_are_not_offered() {
    let greedy = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))])).memory32(0, 1 << 31);
    let fake = FakeHost::new(bus([(0, greedy), (1, FakeFunction::nvme(0x11))]));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(places(&found), [("00:01.0".into(), 0x11, 0xc0_0000_0000)]);
    assert!(matches!(found.problems[0].reason, Reason::NoRoom { index: 0, size: 0x8000_0000 }));
    assert_eq!(fake.bus[&0].command() & 7, 0);
}

/// Configuration space that answers everywhere the same way, on every bus: the loops that a real one cannot have.
struct Everywhere {
    words: [u32; 16],
    kept: [Cell<u32>; 16],
    accesses: Cell<usize>,
}

impl Everywhere {
    /// Controllers with this header type, whose registers hold whatever is written to any of them.
    fn new(kind: u32) -> Self {
        let mut words = [0; 16];
        [words[0], words[2], words[3]] = [0x0010_1b36, 0x0108_0202, kind << 16];
        Self { words, kept: Default::default(), accesses: Cell::new(0) }
    }
}

impl Mmio for Everywhere {
    fn read32(&self, offset: usize) -> u32 {
        self.accesses.set(self.accesses.get() + 1);
        assert!(offset < 256 << 20, "outside the window");
        let word = offset % 0x1000 / 4;
        self.words[word] | self.kept[word].get()
    }
    fn write32(&self, offset: usize, value: u32) {
        self.accesses.set(self.accesses.get() + 1);
        self.kept[offset % 0x1000 / 4].set(value);
    }
    fn read64(&self, _: usize) -> u64 {
        u64::MAX
    }
    fn write64(&self, _: usize, _: u64) {}
}

#[test]
fn bridges_in_loops_come_to_an_end() {
    let loops = Everywhere::new(0x81);
    let found = enumerate::<_, 4>(&loops, &host(), NVME);
    assert_eq!((found.functions.len(), found.buses()), (0, 256));
    assert_eq!(found.problems.len(), PROBLEMS);
    assert!(found.problems_left_out > 60_000, "each of the bridges is counted: {}", found.problems_left_out);
    assert!(loops.accesses.get() < 256 * FOR_ONE_BUS);
    found.close();
}

#[test]
fn a_device_that_answers_for_all_is_taken_as_often_as_there_is_a_place() {
    let everywhere = Everywhere::new(0x80);
    everywhere.kept[4].set(0xffff_c000);
    let found = enumerate::<_, 4>(&everywhere, &host(), NVME);
    assert_eq!(found.functions.len() + found.left_out + found.problems.len() + found.problems_left_out, 256);
    assert!(everywhere.accesses.get() < FOR_ONE_BUS);
}

#[test]
fn a_bus_of_zeros_has_functions_of_no_class() {
    let zeros = Everywhere { words: [0; 16], kept: Default::default(), accesses: Cell::new(0) };
    let found = enumerate::<_, 4>(&zeros, &host(), NVME);
    assert_eq!((found.functions.len(), found.problems.len()), (0, 0));
}

/// Reads what a sequence says, now and then what makes sense: a bridge, a mask, or what was written last.
struct Noise {
    state: Cell<u64>,
    /// How often a read makes sense, in 256.
    plausible: u8,
    written: Cell<u32>,
    accesses: Cell<usize>,
}

impl Mmio for Noise {
    fn read32(&self, offset: usize) -> u32 {
        self.accesses.set(self.accesses.get() + 1);
        self.state.set(self.state.get().wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        let drawn = (self.state.get() >> 32) as u32;
        if (drawn & 0xff) as u8 > self.plausible {
            return drawn;
        }
        match offset % 0x1000 {
            0x08 => 0x0108_0200,
            0x0c => drawn & 0x0081_0000,
            0x04 | 0x18 => self.written.get(),
            0x10..0x28 => u32::MAX << (drawn >> 8 & 31),
            _ => drawn,
        }
    }
    fn write32(&self, _: usize, value: u32) {
        self.accesses.set(self.accesses.get() + 1);
        self.written.set(value);
    }
    fn read64(&self, _: usize) -> u64 {
        u64::MAX
    }
    fn write64(&self, _: usize, _: u64) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn noise_never_panics_and_comes_to_an_end(
        state: u64,
        plausible: u8,
        bus: u64,
        size: u64,
        processor: u64,
        last: u8,
    ) {
        let noise = Noise { state: Cell::new(state), plausible, written: Cell::new(0), accesses: Cell::new(0) };
        let low = memory(PciSpace::Memory32, bus >> 32, size >> 32, processor);
        let windows = [low, memory(PciSpace::Memory64, bus, size, processor)];
        let host = PciHost { buses: 0..=last, ..host_with(&windows) };
        let mut found = enumerate::<_, 4>(&noise, &host, NVME);
        for function in &mut found.functions {
            let _ = (function.enable(), function.disable());
        }
        found.close();
        prop_assert!(found.buses() <= usize::from(last) + 1);
        prop_assert!(noise.accesses.get() < 2 * found.buses() * FOR_ONE_BUS);
        // Also where it goes wrong.
        prop_assert!(found.problems.iter().all(|problem| !problem.to_string().is_empty()));
    }
}
