//! The power manager: one word for each domain, with power states that take time, parents, and the reset of the device.
//!
//! Bits and rules: reference of the power states (Linux pmgr-pwrstate.c, m1n1 pmgr.c, U-Boot apple-pmgr.c).

use std::collections::BTreeMap;

use crate::config::MachineConfig;
use crate::context::{Context, Event};
use crate::facts::pmgr::{self as facts, ACTIVE, CLOCK_GATED, POWER_GATED};
use crate::fault::Fault;

const RESET: u32 = facts::RESET.mask32();
const AUTO_ENABLE: u32 = facts::AUTO_ENABLE.mask32();
const PARENT_OFF: u32 = facts::PARENT_OFF.mask32();
const DEV_DISABLE: u32 = facts::DEV_DISABLE.mask32();
const WAS_POWER_GATED: u32 = facts::WAS_PWRGATED.mask32();
const WAS_GATED: u32 = facts::WAS_CLKGATED.mask32() | WAS_POWER_GATED;
const ACTUAL: u32 = facts::PS_ACTUAL.mask32();
const TARGET: u32 = facts::PS_TARGET.mask32();
/// The bits that follow from the hardware's state, whatever is written.
const STATUS: u32 = PARENT_OFF | ACTUAL;
/// The word of a domain that is simply on.
const ON: u32 = actual(ACTIVE) | ACTIVE;

/// A state in the place of the actual one.
const fn actual(state: u32) -> u32 {
    facts::PS_ACTUAL.put32(state)
}

/// After that many nanoseconds without an access a domain in automatic mode counts as idle.
const IDLE_NS: u64 = 1_000_000;

#[derive(Debug)]
struct Domain {
    name: &'static str,
    parents: Vec<&'static str>,
    word: u32,
    initial: u32,
    pending: bool,
    last_use: u64,
}

/// What a write to the power manager did to a domain's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The device is held in reset from now on.
    Reset(&'static str),
    /// The device has lost its power and all its state.
    PoweredOff(&'static str),
}

/// The power manager's block.
#[derive(Debug)]
pub(crate) struct Pmgr {
    domains: BTreeMap<u64, Domain>,
    others: BTreeMap<u64, u32>,
    delay: u64,
    stuck: Vec<String>,
    auto_gating: bool,
}

impl Pmgr {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        let domains = config.domains.iter().map(|domain| {
            let word = if domain.on { ON } else { POWER_GATED };
            let parents = domain.parents.clone();
            (domain.offset, Domain { name: domain.name, parents, word, initial: word, pending: false, last_use: 0 })
        });
        let stuck = config.faults.iter().filter_map(|fault| match fault {
            Fault::PowerStuck(name) => Some(name.clone()),
            _ => None,
        });
        Self {
            domains: domains.collect(),
            others: BTreeMap::new(),
            delay: config
                .fault(|fault| if let Fault::PowerDelay(delay) = fault { Some(*delay) } else { None })
                .unwrap_or(config.timings.power_change),
            stuck: stuck.collect(),
            auto_gating: config.has(&Fault::AutoGating),
        }
    }

    /// A block of domains that are all unmodelled.
    pub(crate) fn unmodelled() -> Self {
        Self { domains: BTreeMap::new(), others: BTreeMap::new(), delay: 0, stuck: Vec::new(), auto_gating: false }
    }

    fn named(&self, name: &str) -> Option<&Domain> {
        self.domains.values().find(|domain| domain.name == name)
    }

    /// Whether the domain is powered and clocked. A domain that is not modelled is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.named(name).is_none_or(|domain| facts::PS_ACTUAL.of32(domain.word) == ACTIVE)
    }

    /// Whether the domain's device is held in reset.
    pub(crate) fn in_reset(&self, name: &str) -> bool {
        self.named(name).is_some_and(|domain| domain.word & RESET != 0)
    }

    /// The register name of the domain at `offset`, for the counters.
    pub(crate) fn register_name(&self, offset: u64) -> Option<String> {
        self.domains.get(&offset).map(|domain| format!("PMGR_{}", domain.name.to_uppercase()))
    }

    /// Notes a use of the domain's device: automatic gating starts to count again.
    pub(crate) fn used(&mut self, name: &str, now: u64) {
        if let Some(domain) = self.domains.values_mut().find(|domain| domain.name == name) {
            domain.last_use = now;
        }
    }

    pub(crate) fn read(&mut self, ctx: &Context<'_>, offset: u64) -> u32 {
        let Some(domain) = self.domains.get(&offset) else {
            return self.others.get(&offset).copied().unwrap_or(ON);
        };
        let idle = ctx.now.saturating_sub(domain.last_use) > IDLE_NS;
        if self.auto_gating && domain.word & AUTO_ENABLE != 0 && facts::PS_ACTUAL.of32(domain.word) == ACTIVE && idle {
            return domain.word & !ACTUAL | actual(CLOCK_GATED);
        }
        domain.word
    }

    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) -> Option<Change> {
        let Some(domain) = self.domains.get_mut(&offset) else {
            // An unmodelled domain is always there: the actual state is the target at once.
            self.others.insert(offset, value & !STATUS | actual(value & TARGET));
            return None;
        };
        let place = format!("pmgr+{offset:#05x}");
        let name = domain.name;
        let old = domain.word;
        domain.word = value & !STATUS | old & STATUS;
        let mut change = None;
        let active = facts::PS_ACTUAL.of32(old) == ACTIVE;
        let steps = (old ^ value) & (RESET | DEV_DISABLE);
        if steps == RESET | DEV_DISABLE {
            ctx.violation(
                "reset-in-one-write",
                &place,
                format!("{name}: RESET and DEV_DISABLE each need a write of their own"),
            );
        } else if steps & RESET != 0 && old & DEV_DISABLE == 0 {
            ctx.violation(
                "reset-without-device-disable",
                &place,
                format!("{name}: DEV_DISABLE has to be set while RESET changes"),
            );
        } else if steps & DEV_DISABLE != 0 && old & RESET != 0 {
            ctx.violation("device-enabled-in-reset", &place, format!("{name}: DEV_DISABLE changed while RESET is set"));
        }
        if value & RESET != 0 && old & RESET == 0 {
            if active {
                change = Some(Change::Reset(name));
            } else {
                ctx.violation(
                    "reset-while-off",
                    &place,
                    format!("{name}: a reset needs power and clock, word was {old:#010x}"),
                );
            }
        }
        let actual = facts::PS_ACTUAL.of32(old);
        if value & TARGET != actual || old & TARGET != value & TARGET {
            if value & TARGET != old & TARGET {
                if !matches!(value & TARGET, POWER_GATED | CLOCK_GATED | ACTIVE) {
                    ctx.violation("power-state-unknown", &place, format!("{name}: target {:#x}", value & TARGET));
                }
                if value & TARGET == POWER_GATED && value & RESET != 0 {
                    ctx.note("power-off-in-reset", &place, format!("{name}: powered off while RESET is set"));
                }
            }
            if !self.stuck.iter().any(|stuck| stuck == name) && value & TARGET != actual && !domain.pending {
                domain.pending = true;
                ctx.events.at(ctx.now + self.delay, Event::Power(offset));
            }
        }
        change
    }

    /// The delayed state change of the domain at `offset` is due.
    pub(crate) fn event(&mut self, ctx: &mut Context<'_>, offset: u64) -> Option<Change> {
        let place = format!("pmgr+{offset:#05x}");
        let (name, target, was) = {
            let domain = self.domains.get_mut(&offset)?;
            domain.pending = false;
            (domain.name, domain.word & TARGET, facts::PS_ACTUAL.of32(domain.word))
        };
        let parents = self.domains.get(&offset).map(|domain| domain.parents.clone()).unwrap_or_default();
        let parent_off = parents.iter().find(|parent| !self.is_on(parent)).copied();
        if let (ACTIVE, Some(parent)) = (target, parent_off) {
            ctx.violation("parent-off", &place, format!("{name} was switched on while its parent {parent} is off"));
            let domain = self.domains.get_mut(&offset)?;
            domain.word |= PARENT_OFF;
            return None;
        }
        if target != ACTIVE {
            let child = self
                .domains
                .values()
                .find(|child| child.parents.contains(&name) && facts::PS_ACTUAL.of32(child.word) == ACTIVE);
            if let Some(child) = child.map(|child| child.name) {
                ctx.violation("child-on", &place, format!("{name} was switched off while its child {child} is on"));
            }
        }
        let domain = self.domains.get_mut(&offset)?;
        domain.word = domain.word & !STATUS | actual(target);
        domain.last_use = ctx.now;
        if target == POWER_GATED && was != POWER_GATED {
            domain.word |= WAS_POWER_GATED;
            return Some(Change::PoweredOff(name));
        }
        None
    }

    /// Whether every domain is as it was found; records what is not.
    pub(crate) fn finish(&self, ctx: &mut Context<'_>, excused: bool) {
        for (offset, domain) in &self.domains {
            let (place, name, initial, word) =
                (format!("pmgr+{offset:#05x}"), domain.name, domain.initial, domain.word);
            let kept = TARGET | ACTUAL | RESET | DEV_DISABLE;
            if word & kept != initial & kept {
                let detail = format!("{name} was found as {initial:#010x} and is left as {:#010x}", word & !WAS_GATED);
                if excused && word & (RESET | DEV_DISABLE) == 0 {
                    ctx.note("domain-left-changed", place, detail);
                } else {
                    ctx.violation("domain-left-changed", place, detail);
                }
            }
        }
    }
}
