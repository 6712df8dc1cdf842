//! ANS' parts on any platform whose board is the simulated one.

use ans::power::{Domain, Domains};
use ans::sart::Version;
use ans::{Ans, Config, Failure, Hardware, Stage};
use hal::fdt::Label;
use hal::{Clock, Platform};
use heapless::Vec;

fn domain(name: &str, offset: usize, parents: &[usize]) -> Domain {
    let parents = Vec::from_slice(parents).unwrap();
    Domain { name: Label::new(name), block: 0, offset, parents, always_on: false }
}

/// What a T8103's device tree says: ans2 and apcie_st under apcie and ans2. `window` gives the window of the block of that
/// name.
pub(crate) fn hardware_of<P: Platform>(
    window: impl Fn(&'static str) -> P::Window,
    pool: P::Pool,
    clock: P::Clock,
) -> Hardware<P> {
    let domains = [domain("ans2", 0x3f0, &[]), domain("apcie", 0x348, &[]), domain("apcie_st", 0x418, &[1, 0])];
    let blocks = Vec::from_iter([window("pmgr")]);
    Hardware {
        nvme: window("nvme"),
        coprocessor: window("asc"),
        mailbox: window("mailbox"),
        sart: window("sart"),
        sart_version: Version::Two,
        domains: Domains::new(blocks, Vec::from_iter(domains)).unwrap(),
        attached: Vec::from_iter([0, 2]),
        reset: 0,
        pool,
        clock,
    }
}

/// Brings ANS up; gives the stages passed too.
pub(crate) fn start<P: Platform<Clock: Clock + Clone>>(
    hardware: Hardware<P>,
    config: Config,
) -> (Result<Ans<P>, Failure<P>>, std::vec::Vec<Stage>) {
    let mut stages = std::vec::Vec::new();
    let result = Ans::start(hardware, config, &mut |stage, _| stages.push(stage));
    (result, stages)
}
