//! The lists of what a faithful model must accept and must catch, a test for each row outside the NVMe block: a plain
//! working driver, changed in one way.

#[cfg(test)]
mod accept;
#[cfg(test)]
mod catch;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod power;

use sim::host::Board;
use sim::host::plain::{Plain, Plan};
use sim::{AnsState, Fault, MachineConfig};

#[cfg(test)]
fn machine(ans: AnsState, faults: &[&str]) -> Board {
    let mut config = MachineConfig::new(ans);
    config.faults = faults.iter().map(|text| Fault::parse(text).unwrap()).collect();
    Board::new(config)
}

/// A driver with that plan at a machine which was found stopped.
fn driver(plan: Plan) -> Plain {
    Plain::new(&machine(AnsState::Stopped, &[]), plan)
}

fn rules(driver: &Plain) -> Vec<&'static str> {
    driver.board.violations().iter().map(|violation| violation.rule).collect()
}

fn assert_clean(driver: &Plain) {
    assert_eq!(driver.board.violations(), []);
}

/// The rule was broken, and none but those that follow from it.
fn assert_caught(driver: &Plain, rule: &str, consequences: &[&str]) {
    let rules = rules(driver);
    assert!(rules.contains(&rule), "{rule} was not caught: {rules:?}");
    let other = rules.iter().find(|other| **other != rule && !consequences.contains(other));
    assert_eq!(other, None, "{:?}", driver.board.violations());
}
