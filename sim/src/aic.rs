//! The interrupt controller, version 1, for one CPU: levels, masks, software triggers and the event register
//! (Linux irq-apple-aic.c).

use std::collections::{BTreeMap, BTreeSet};

const LINES: u32 = 896;
/// The NVMe block's line on T8103.
pub(crate) const NVME_LINE: u32 = 590;
/// The mailbox's four lines on T8103, in the order send-empty, send-not-empty, receive-empty, receive-not-empty.
pub(crate) const MAILBOX_LINES: [u32; 4] = [583, 584, 585, 586];

const INFO: u64 = 0x0004;
const EVENT: u64 = 0x2004;
const TARGET_CPU: u64 = 0x3000;
const SOFTWARE_SET: u64 = 0x4000;
const SOFTWARE_CLEAR: u64 = 0x4080;
const MASK_SET: u64 = 0x4100;
const MASK_CLEAR: u64 = 0x4180;
const ARRAY: u64 = 0x80;
const TYPE_INTERRUPT: u32 = 1 << 16;

/// The controller.
#[derive(Debug)]
pub(crate) struct Aic {
    masked: BTreeSet<u32>,
    software: BTreeSet<u32>,
    levels: BTreeSet<u32>,
    words: BTreeMap<u64, u32>,
}

impl Aic {
    pub(crate) fn new() -> Self {
        Self {
            masked: (0..LINES).collect(),
            software: BTreeSet::new(),
            levels: BTreeSet::new(),
            words: BTreeMap::new(),
        }
    }

    /// Sets a hardware line's level.
    pub(crate) fn line(&mut self, line: u32, level: bool) {
        if level {
            self.levels.insert(line);
        } else {
            self.levels.remove(&line);
        }
    }

    fn first(&self) -> Option<u32> {
        let active = self.levels.union(&self.software);
        active.copied().find(|line| !self.masked.contains(line))
    }

    /// Whether the CPU's IRQ input is asserted.
    pub(crate) fn pending(&self) -> bool {
        self.first().is_some()
    }

    pub(crate) fn read(&mut self, offset: u64) -> u32 {
        match offset {
            INFO => LINES,
            EVENT => match self.first() {
                Some(line) => {
                    self.masked.insert(line);
                    TYPE_INTERRUPT | line
                }
                None => 0,
            },
            SOFTWARE_SET..MASK_SET => word(&self.software, offset),
            MASK_SET.. if offset < MASK_CLEAR + ARRAY => word(&self.masked, offset),
            _ => self.words.get(&offset).copied().unwrap_or(if offset >= TARGET_CPU { 1 } else { 0 }),
        }
    }

    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        let first = u32::try_from(offset % ARRAY * 8).unwrap_or(0);
        let lines = (0..32).filter(|bit| value >> bit & 1 != 0).map(|bit| first + bit);
        match offset {
            SOFTWARE_SET..SOFTWARE_CLEAR => self.software.extend(lines),
            SOFTWARE_CLEAR..MASK_SET => lines.for_each(|line| _ = self.software.remove(&line)),
            MASK_SET..MASK_CLEAR => self.masked.extend(lines),
            MASK_CLEAR.. if offset < MASK_CLEAR + ARRAY => lines.for_each(|line| _ = self.masked.remove(&line)),
            _ => _ = self.words.insert(offset, value),
        }
    }
}

fn word(lines: &BTreeSet<u32>, offset: u64) -> u32 {
    let first = u32::try_from(offset % ARRAY * 8).unwrap_or(0);
    lines.range(first..first + 32).fold(0, |word, line| word | 1 << (line - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_the_event_masks_the_line_until_it_is_unmasked() {
        let mut aic = Aic::new();
        aic.line(NVME_LINE, true);
        assert!(!aic.pending(), "every line starts masked");
        aic.write(MASK_CLEAR + u64::from(NVME_LINE / 32) * 4, 1 << (NVME_LINE % 32));
        assert!(aic.pending());
        assert_eq!(aic.read(EVENT), 0x1_0000 | NVME_LINE);
        assert_eq!(aic.read(EVENT), 0);
        aic.write(MASK_CLEAR + u64::from(NVME_LINE / 32) * 4, 1 << (NVME_LINE % 32));
        assert_eq!(aic.read(EVENT), 0x1_0000 | NVME_LINE);
        aic.line(NVME_LINE, false);
        aic.write(MASK_CLEAR + u64::from(NVME_LINE / 32) * 4, 1 << (NVME_LINE % 32));
        assert!(!aic.pending());
    }
}
