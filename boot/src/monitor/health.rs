//! What the controller tells when asked, and unasked: health, errors, features, events.

use core::fmt;
use hal::Platform;

use nvme::{CommandError, Health, Select};

use super::Monitor;
use crate::any::AnyController;
use crate::reason::Reason;

/// The critical warnings of the health log, by bit (NVMe base specification, log page 0x02).
const WARNINGS: [&str; 5] =
    ["spare is low", "temperature", "reliability degraded", "read-only", "backup of memory failed"];
/// Events that are asked for at once: more than a controller has room for, and an end to one that always has another.
const EVENTS: usize = 64;

/// The features that are shown, as the specification numbers them.
const FEATURES: [(u8, &str); 9] = [
    (0x01, "arbitration"),
    (0x02, "power"),
    (0x04, "temperature"),
    (ERROR_RECOVERY, "error recovery"),
    (0x06, "write cache"),
    (0x07, "queues"),
    (0x08, "interrupt coalescing"),
    (0x0a, "write atomicity"),
    (0x0b, "events"),
];

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn smart(&mut self) -> Result<(), Reason> {
        let health = self.controller()?.health().map_err(Reason::new)?;
        let Health { critical_warning, temperature, .. } = health;
        write!(self.out, "critical warning    {critical_warning:#04x}").map_err(Reason::new)?;
        for (bit, name) in WARNINGS.iter().enumerate().filter(|(bit, _)| critical_warning >> bit & 1 != 0) {
            write!(self.out, "{}{name}", if critical_warning & ((1 << bit) - 1) == 0 { " " } else { ", " })
                .map_err(Reason::new)?;
        }
        writeln!(self.out, "\ntemperature         {}", Temperature(temperature)).map_err(Reason::new)?;
        for (name, value) in [
            ("spare", health.available_spare),
            ("spare threshold", health.spare_threshold),
            ("life used", health.percentage_used),
        ] {
            writeln!(self.out, "{name:20}{value} %").map_err(Reason::new)?;
        }
        for (name, value, unit) in [
            ("read", health.units_read, THOUSANDS),
            ("written", health.units_written, THOUSANDS),
            ("read commands", health.host_reads, ""),
            ("write commands", health.host_writes, ""),
            ("busy", health.busy_minutes, " minutes"),
            ("power cycles", health.power_cycles, ""),
            ("power on", health.power_on_hours, " hours"),
            ("unsafe shutdowns", health.unsafe_shutdowns, ""),
            ("media errors", health.media_errors, ""),
            ("errors logged", health.error_entries, ""),
        ] {
            write!(self.out, "{name:20}{value}{unit}").map_err(Reason::new)?;
            if unit == THOUSANDS {
                // 512,000 bytes each, in billions of bytes.
                let tenths = value.saturating_mul(512) / 100_000;
                write!(self.out, " ({}.{} GB)", tenths / 10, tenths % 10).map_err(Reason::new)?;
            }
            writeln!(self.out).map_err(Reason::new)?;
        }
        Ok(())
    }

    pub(super) fn errors(&mut self) -> Result<(), Reason> {
        let errors = self.controller()?.errors().map_err(Reason::new)?;
        if errors.is_empty() {
            return writeln!(self.out, "no errors").map_err(Reason::new);
        }
        for error in errors {
            writeln!(
                self.out,
                "error {}: queue {}, command {:#06x}, namespace {:#x}, block {}: {}",
                error.count, error.queue, error.command, error.namespace, error.lba, error.status
            )
            .map_err(Reason::new)?;
        }
        Ok(())
    }

    /// Every feature, whether or not the controller has it; a status is an answer too.
    pub(super) fn features(&mut self) -> Result<(), Reason> {
        let others: &[_] = match self.controller()?.identity().select {
            true => &[("default", Select::Default), ("saved", Select::Saved)],
            false => &[],
        };
        let namespace = self.selected.namespace;
        for (feature, name) in FEATURES {
            let current = asked(self.controller()?, namespace, feature, Select::Current)?;
            write!(self.out, "{feature:#04x} {name}: ").map_err(Reason::new)?;
            match current {
                Ok(value) => {
                    write!(self.out, "{value:#x}, {}", Decoded(feature, value)).map_err(Reason::new)?;
                    for (which, select) in others {
                        match asked(self.controller()?, namespace, feature, *select)? {
                            Ok(value) => write!(self.out, "; {which} {value:#x}"),
                            Err(error) => write!(self.out, "; {which}: {error}"),
                        }
                        .map_err(Reason::new)?;
                    }
                    writeln!(self.out)
                }
                Err(error) => writeln!(self.out, "{error}"),
            }
            .map_err(Reason::new)?;
        }
        Ok(())
    }

    pub(super) fn events(&mut self) -> Result<(), Reason> {
        for told in 0..EVENTS {
            match self.controller()?.next_event().map_err(Reason::new)? {
                Some(event) => writeln!(self.out, "{event}").map_err(Reason::new)?,
                None if told == 0 => return writeln!(self.out, "no events").map_err(Reason::new),
                None => return Ok(()),
            }
        }
        writeln!(self.out, "perhaps more").map_err(Reason::new)
    }
}

const ERROR_RECOVERY: u8 = 0x05;
const THOUSANDS: &str = " thousand units of 512 bytes";

/// A feature's value, or the status that came instead; what is worse is an error of the whole command.
fn asked<P: Platform>(
    controller: &mut dyn AnyController<P>,
    namespace: u32,
    feature: u8,
    select: Select,
) -> Result<Result<u32, CommandError>, Reason> {
    // Retries are a namespace's, everything else is the controller's.
    let namespace = if feature == ERROR_RECOVERY { namespace } else { 0 };
    match controller.feature(feature, namespace, select) {
        Ok(value) => Ok(Ok(value)),
        Err(error @ CommandError::Status(_)) => Ok(Err(error)),
        Err(error) => Err(Reason::new(error)),
    }
}

/// A temperature in kelvin; 0 is none.
struct Temperature(u16);

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("not reported"),
            kelvin => write!(f, "{kelvin} K ({} degrees Celsius)", i32::from(kelvin) - 273),
        }
    }
}

/// A feature's value in words (NVMe base specification, chapter on features).
struct Decoded(u8, u32);

impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(feature, value) = *self;
        let (low, high) = (value & 0xffff, value >> 16);
        match feature {
            0x01 if value & 0b111 == 0b111 => f.write_str("any number of commands at a time"),
            0x01 => write!(f, "{} commands at a time", 1 << (value & 0b111)),
            0x02 => write!(f, "power state {}", value & 0x1f),
            0x04 => write!(f, "threshold {}", Temperature(u16::try_from(low).unwrap_or(u16::MAX))),
            ERROR_RECOVERY if low == 0 => f.write_str("no limit for retries"),
            ERROR_RECOVERY => write!(f, "{} ms for retries", low * 100),
            0x06 => f.write_str(if value & 1 != 0 { "on" } else { "off" }),
            0x07 => write!(f, "{} submission and {} completion queues", low + 1, high + 1),
            0x08 if value & 0xffff == 0 => f.write_str("off"),
            0x08 => write!(f, "{} entries, {} us", (value & 0xff) + 1, (value >> 8 & 0xff) * 100),
            0x0a => f.write_str(if value & 1 != 0 { "only as after a power failure" } else { "normal" }),
            _ if value == 0 => f.write_str("those that are always told"),
            _ => f.write_str("those whose bits are set"),
        }
    }
}
