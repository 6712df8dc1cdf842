//! The simulated board as `Hardware`.

use ans::power::{Domain, Domains};
use ans::sart::Version;
use ans::{Ans, Config, Failure, Hardware, Stage};
use hal::fdt::Label;
use heapless::Vec;
use sim::host::{Board, HostPlatform};

pub(crate) type Bare = Hardware<HostPlatform>;

fn domain(name: &str, offset: usize, parents: &[usize]) -> Domain {
    let parents = Vec::from_slice(parents).unwrap();
    Domain { name: Label::new(name), block: 0, offset, parents, always_on: false }
}

/// What a T8103's device tree says: ans2 and apcie_st under apcie and ans2.
pub(crate) fn hardware(board: &Board) -> Bare {
    let domains = [domain("ans2", 0x3f0, &[]), domain("apcie", 0x348, &[]), domain("apcie_st", 0x418, &[1, 0])];
    let blocks = Vec::from_iter([board.window("pmgr")]);
    Hardware {
        nvme: board.window("nvme"),
        coprocessor: board.window("asc"),
        mailbox: board.window("mailbox"),
        sart: board.window("sart"),
        sart_version: Version::Two,
        domains: Domains::new(blocks, Vec::from_iter(domains)).unwrap(),
        attached: Vec::from_iter([0, 2]),
        reset: 0,
        pool: board.pool(),
        clock: board.clock(),
    }
}

/// Brings ANS up; gives the stages passed too.
pub(crate) fn start(
    hardware: Bare,
    config: Config,
) -> (Result<Ans<HostPlatform>, Failure<HostPlatform>>, std::vec::Vec<Stage>) {
    let mut stages = std::vec::Vec::new();
    let result = Ans::start(hardware, config, &mut |stage, _| stages.push(stage));
    (result, stages)
}

/// Asserts that nothing was broken and nothing was odd.
pub(crate) fn assert_clean(board: &Board) {
    let report = board.report();
    assert!(report.violations.is_empty(), "violations: {:#?}", report.violations);
    assert!(report.notes.is_empty(), "notes: {:#?}", report.notes);
}
