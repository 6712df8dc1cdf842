//! The watchdog: three counters at 24 MHz, each of which may reset the machine (Linux apple_wdt.c, m1n1 wdt.c).

use crate::context::{Context, Event};

/// Offsets of a unit's registers from its base, 0x10 bytes each: current, bite, bark or nothing, control.
const CURRENT: u64 = 0x0;
const BITE: u64 = 0x4;
const BARK: u64 = 0x8;
const CONTROL: u64 = 0xc;

const RESET_ENABLE: u32 = 1 << 2;
const INTERRUPT_STATUS: u32 = 1 << 1;

#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// The model time at which the counter was zero, and the value it was set to there.
    since: u64,
    start: u32,
    bite: u32,
    bark: u32,
    control: u32,
}

impl Unit {
    fn current(&self, now: u64) -> u32 {
        let ticks = u128::from(now - self.since.min(now)) * 24 / 1000;
        self.start.wrapping_add((ticks & 0xffff_ffff) as u32)
    }
}

/// The block of three units.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    units: [Unit; 3],
    /// The unit that reset the machine, and when.
    fired: Option<(u8, u64)>,
}

impl Watchdog {
    /// The unit that reset the machine first, and the time.
    pub(crate) fn fired(&self) -> Option<(u8, u64)> {
        self.fired
    }

    pub(crate) fn read(&self, now: u64, offset: u64) -> u32 {
        let Some(unit) = self.units.get(usize::try_from(offset / 0x10).unwrap_or(usize::MAX)) else { return 0 };
        match offset % 0x10 {
            CURRENT => unit.current(now),
            BITE => unit.bite,
            BARK => unit.bark,
            CONTROL => unit.control,
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        let number = offset / 0x10;
        let Some(unit) = self.units.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) else { return };
        match offset % 0x10 {
            CURRENT => (unit.since, unit.start) = (ctx.now, value),
            BITE => unit.bite = value,
            BARK => unit.bark = value,
            CONTROL => unit.control = value & !INTERRUPT_STATUS,
            _ => {}
        }
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        ctx.events.forget(|event| *event == Event::Watchdog(number));
        if unit.control & RESET_ENABLE != 0 {
            let left = u64::from(unit.bite.saturating_sub(unit.current(ctx.now)));
            ctx.events.at(ctx.now + (left * 1000).div_ceil(24), Event::Watchdog(number));
        }
    }

    pub(crate) fn event(&mut self, ctx: &mut Context<'_>, number: u8) {
        let Some(unit) = self.units.get(usize::from(number)) else { return };
        let due = unit.control & RESET_ENABLE != 0 && unit.current(ctx.now) >= unit.bite;
        if due && self.fired.is_none() {
            self.fired = Some((number, ctx.now));
            ctx.note(
                "watchdog-reset",
                format!("wdt+{:#04x}", u64::from(number) * 0x10),
                "the watchdog resets the machine",
            );
        }
    }
}
