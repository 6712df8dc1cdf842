//! Hosts that do anything: the model answers, never panics, and never takes for ever.

use hal::{DmaPool, Mmio};
use proptest::prelude::*;
use sim::pcie::shadow::EventIndex;
use sim::pcie::{ControllerConfig, Doorbells};

use crate::host::{Host, Script};

#[derive(Clone, Debug)]
enum Step {
    /// A command of any opcode with pointers near memory that there is.
    Command {
        queue: u16,
        opcode: u8,
        flags: u8,
        namespace: u32,
        prp: [u64; 2],
        dwords: [u32; 6],
    },
    /// Any register or doorbell.
    Register {
        offset: u16,
        value: u32,
    },
    /// Any word of the shadow or event page.
    Word {
        event: bool,
        index: u16,
        value: u32,
    },
    /// Completions are taken.
    Take,
    Pass(u32),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let opcode = prop_oneof![0..=12_u8, Just(0x7c), any::<u8>()];
    let dword = || prop_oneof![0..4_u32, any::<u32>(), (0..70_u32).prop_map(|low| low | 15 << 16)];
    let pointer = || prop_oneof![Just(0), (0..0x8_0000_u64), (0..128_u64).prop_map(|page| page * 4096), any::<u64>()];
    let command = (0..3_u16, opcode, prop_oneof![9 => Just(0), 1 => any::<u8>()], 0..3_u32, [pointer(), pointer()]);
    let command = (command, [dword(), dword(), dword(), dword(), dword(), dword()]);
    let offset = prop_oneof![0..0x40_u16, 0x1000..0x1040_u16];
    prop_oneof![
        8 => command.prop_map(|((queue, opcode, flags, namespace, prp), dwords)| {
            Step::Command { queue, opcode, flags, namespace, prp, dwords }
        }),
        2 => (offset, prop_oneof![0..20_u32, any::<u32>()]).prop_map(|(offset, value)| {
            Step::Register { offset: offset & !3, value }
        }),
        4 => (any::<bool>(), 0..8_u16, prop_oneof![0..20_u32, any::<u32>()])
            .prop_map(|(event, index, value)| Step::Word { event, index, value }),
        2 => Just(Step::Take),
        3 => (0..3_000_000_u32).prop_map(Step::Pass),
        1 => Just(Step::Reset),
    ]
}

fn doorbells() -> impl Strategy<Value = Doorbells> {
    let event_index = EventIndex::AllOnes;
    prop_oneof![
        Just(Doorbells::default()),
        Just(Doorbells::Wakes { wake_ns: 500, settle_ns: 20_000, look_again_ns: 5_000 }),
        Just(Doorbells::Polls { every_ns: 50_000, event_index }),
        Just(Doorbells::NeverUpdates),
        Just(Doorbells::NeedsMmio),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_host_that_does_anything_gets_its_data_afterwards(
        doorbells in doorbells(),
        copies_on_bind: bool,
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let mut host = Host::new(ControllerConfig { doorbells, copies_on_bind, ..ControllerConfig::new() });
        let pages = up(&mut host);
        for step in steps {
            match step {
                Step::Command { queue, opcode, flags, namespace, prp, dwords } => {
                    let prp = prp.map(|at| if at < 0x10_0000 { host.data.wrapping_add(at) } else { at });
                    host.submit(queue, Script { opcode, flags, namespace, prp, dwords });
                }
                Step::Register { offset, value } => host.bar.write32(offset.into(), value),
                Step::Word { event, index, value } => {
                    let page = if event { pages[1] } else { pages[0] };
                    host.put(page + u64::from(index) * 4, &value.to_le_bytes());
                }
                Step::Take => {
                    for queue in 0..3 {
                        while host.take(queue).is_some() {}
                        host.acknowledge(queue);
                    }
                }
                Step::Pass(nanoseconds) => host.board.pass(nanoseconds.into()),
                Step::Reset => drop(up(&mut host)),
            }
        }
        up(&mut host);
        host.pages = None;
        host.board.pool().publish();
        host.reset();
        host.enable(0);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        let data = host.data;
        host.put(data, &[0x77; 512]);
        prop_assert_eq!(host.io(Script::write(9, 1, [data, 0])).status, 0);
        host.put(data, &[0; 512]);
        prop_assert_eq!(host.io(Script::read(9, 1, [data, 0])).status, 0);
        prop_assert_eq!(host.get(data, 512), [0x77; 512]);
    }
}

/// Resets and enables the controller, makes two pairs and binds two pages, as far as a controller lets it.
fn up(host: &mut Host) -> [u64; 2] {
    host.reset();
    host.enable(0);
    host.wait_status(1, 1);
    host.create_pair(1, 16);
    host.create_pair(2, 4);
    let pages = host.bind();
    [pages.0, pages.1]
}
