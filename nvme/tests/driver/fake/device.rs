//! The controller itself, written from the reference and not from the driver.

use super::{Answer, Fetched, Machine, Queue};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Ready(bool),
    ShutDown,
    Complete(Fetched, Answer),
}

impl Machine {
    pub(crate) fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.events.insert((self.now + delay, self.order), event);
    }

    pub(crate) fn advance(&mut self, to: u64) {
        while let Some((&key, &event)) = self.events.iter().next().filter(|(key, _)| key.0 <= to) {
            self.events.remove(&key);
            self.now = key.0.max(self.now);
            match event {
                Event::Ready(ready) => {
                    self.status = if ready { 1 } else { 0 };
                    if ready && self.fatal_at_enable {
                        self.status = 2;
                    }
                }
                Event::ShutDown => self.status = self.status & !0xc | 2 << 2,
                Event::Complete(command, answer) => self.complete(command, answer),
            }
        }
        self.now = to;
    }

    fn violation(&mut self, text: String) {
        self.violations.push(text);
    }

    fn register(&self, offset: usize) -> u32 {
        self.registers.get(&offset).copied().unwrap_or(0)
    }

    fn wide(&self, offset: usize) -> u64 {
        u64::from(self.register(offset + 4)) << 32 | u64::from(self.register(offset))
    }

    pub(crate) fn read(&mut self, offset: usize) -> u32 {
        if self.gone {
            return u32::MAX;
        }
        match offset {
            0x00 => u32::from(self.most_entries) | 1 << 16 | u32::from(self.time_out) << 24,
            0x04 => 1 << 5,
            0x08 => self.version,
            0x1c => self.status,
            0x14 | 0x24008 | 0x28120 => self.register(offset),
            _ => {
                self.violation(format!("read of {offset:#x}"));
                0
            }
        }
    }

    pub(crate) fn write(&mut self, offset: usize, value: u32) {
        let before = self.registers.insert(offset, value).unwrap_or(0);
        match offset {
            0x14 => self.configure(before, value),
            0x24 | 0x28 | 0x2c | 0x30 | 0x34 | 0x1210 | 0x24008 | 0x24908 | 0x28100 | 0x28108 | 0x2810c | 0x28110
            | 0x28114 => {
                if self.register(0x14) & 1 != 0 {
                    self.violation(format!("{offset:#x} written while enabled"));
                }
            }
            0x1004 => self.head(false, value),
            0x100c => self.head(true, value),
            0x2490c => self.doorbell(false, value),
            0x24910 => self.doorbell(true, value),
            0x28118 => {
                self.open_batch = true;
                let known = self.armed.remove(&value);
                if !known {
                    self.violation(format!("invalidation of tag {value}, which is not in flight"));
                }
                let kept = self.keep.remove(&value);
                self.registers.insert(0x28120, u32::from(kept || !known));
            }
            _ => self.violation(format!("write of {offset:#x}")),
        }
    }

    fn configure(&mut self, before: u32, value: u32) {
        if value & 1 != 0 && before & 1 == 0 {
            if value != 0x0046_0001 {
                self.violation(format!("enabled with CC {value:#x}"));
            }
            let attributes = self.register(0x24);
            let entries = (attributes & 0xfff).min(attributes >> 16) as u16 + 1;
            let (submission, completion) = (self.wide(0x28), self.wide(0x30));
            self.admin = Some(Queue { submission, completion, entries, tail: 0, phase: true, host_head: 0 });
            if let Some(delay) = self.ready_after {
                self.after(delay, Event::Ready(true));
            }
        } else if value & 1 == 0 && before & 1 != 0 {
            if self.io_completion.is_some() && self.status & 2 == 0 {
                self.violation("CC.EN cleared with IO queues alive".into());
            }
            self.events.retain(|_, event| !matches!(event, Event::Complete(..)));
            (self.admin, self.io_completion, self.io_submission) = (None, None, None);
            (self.open_batch, self.armed, self.keep) = (false, Default::default(), Default::default());
            self.after(1_000_000, Event::Ready(false));
        } else if value >> 14 & 3 == 1 && before >> 14 & 3 == 0 {
            self.status = self.status & !0xc | 1 << 2;
            if let Some(delay) = self.shutdown_after {
                self.after(delay, Event::ShutDown);
            }
        }
    }

    fn head(&mut self, io: bool, value: u32) {
        self.open_batch = false;
        let queue = if io { self.io_completion.as_mut() } else { self.admin.as_mut() };
        match queue {
            Some(queue) if value < u32::from(queue.entries) => queue.host_head = value as u16,
            _ => self.violation(format!("head {value} of a completion queue")),
        }
    }

    fn doorbell(&mut self, io: bool, tag: u32) {
        if self.unpublished {
            self.violation("doorbell before publishing".into());
        }
        if self.open_batch {
            self.violation(format!("doorbell of tag {tag} between an invalidation and the head"));
        }
        if self.register(0x24908) & 1 == 0 || self.register(0x24008) & 0x800 != 0 {
            self.violation("doorbell without linear submission, or with the null check".into());
        }
        let base = if io { self.io_submission } else { self.admin.as_ref().map(|admin| admin.submission) };
        let Some(base) = base else { return self.violation(format!("doorbell of tag {tag} without a queue")) };
        if tag >= 64 || tag > self.register(0x28100) {
            return self.violation(format!("doorbell of tag {tag}"));
        }
        if !self.armed.insert(tag) {
            self.violation(format!("tag {tag} rung while in flight"));
        }
        let mut entry = [0; 64];
        self.device_read(base + u64::from(tag) * 64, &mut entry);
        let blocks = self.wide(if io { 0x28110 } else { 0x28108 });
        let mut block = [0; 128];
        self.device_read(blocks + u64::from(tag) * 128, &mut block);
        let word = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
        let mut expected = [0; 128];
        expected[0] = entry[0];
        expected[1] = if entry[0] & 1 != 0 { 2 } else { 1 };
        expected[2] = tag as u8;
        expected[4..6].copy_from_slice(&entry[48..50]);
        expected[0x18..0x28].copy_from_slice(&entry[24..40]);
        if block != expected {
            self.violation(format!("control block {tag} does not fit its entry: {block:x?}"));
        }
        let wide = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
        let command = Fetched {
            io,
            tag,
            opcode: entry[0],
            identifier: (word(0) >> 16) as u16,
            namespace: word(4),
            prp1: wide(24),
            prp2: wide(32),
            dwords: [40, 44, 48, 52, 56, 60].map(word),
        };
        if u32::from(command.identifier) != tag {
            self.violation(format!("identifier {} under tag {tag}", command.identifier));
        }
        self.commands.push(command);
        let mut answer = core::mem::replace(&mut self.answer, Box::new(|_| Answer::Do));
        let what = answer(&command);
        self.answer = answer;
        let delay = if let Answer::After(delay) = what { delay } else { self.latency };
        self.after(delay, Event::Complete(command, what));
    }

    fn complete(&mut self, command: Fetched, answer: Answer) {
        let (status, result) = match answer {
            Answer::Swallow => return,
            Answer::Status(refused) => (refused, 0),
            _ => self.perform(&command),
        };
        let mut identifier = command.identifier;
        match answer {
            Answer::Identifier(other) => identifier = other,
            Answer::KeepTranslation => {
                self.keep.insert(command.tag);
            }
            _ => {}
        }
        for _ in 0..if answer == Answer::Twice { 2 } else { 1 } {
            self.post(command.io, identifier, status, result);
        }
    }

    /// Puts an entry into a completion queue.
    pub(crate) fn post(&mut self, io: bool, identifier: u16, status: u16, result: u32) {
        let queue = if io { self.io_completion.as_mut() } else { self.admin.as_mut() };
        let Some(queue) = queue else { return };
        let address = queue.completion + u64::from(queue.tail) * 16;
        let phase = u16::from(queue.phase);
        queue.tail += 1;
        if queue.tail == queue.entries {
            (queue.tail, queue.phase) = (0, !queue.phase);
        }
        let mut entry = [0xee; 16];
        entry[..4].copy_from_slice(&result.to_le_bytes());
        entry[12..14].copy_from_slice(&identifier.to_le_bytes());
        entry[14..].copy_from_slice(&(status & !1 | phase).to_le_bytes());
        self.device_write(address, &entry);
    }

    fn perform(&mut self, command: &Fetched) -> (u16, u32) {
        const INVALID_OPCODE: u16 = 1 << 1;
        const INVALID_NAMESPACE: u16 = 0xb << 1;
        const INVALID_QUEUE: u16 = (1 << 8 | 1) << 1;
        let [tenth, eleventh, ..] = command.dwords;
        match (command.io, command.opcode) {
            (false, 0x06) => self.identify(command),
            (false, 0x05) => {
                let entries = (tenth >> 16) as u16 + 1;
                let completion = command.prp1;
                self.io_completion =
                    Some(Queue { submission: 0, completion, entries, tail: 0, phase: true, host_head: 0 });
                (if tenth & 0xffff == 1 && eleventh == 1 { 0 } else { INVALID_QUEUE }, 0)
            }
            (false, 0x01) => {
                self.io_submission = Some(command.prp1);
                (if self.io_completion.is_some() && eleventh == 0x1_0001 { 0 } else { INVALID_QUEUE }, 0)
            }
            (false, 0x00) => (if self.io_submission.take().is_some() { 0 } else { INVALID_QUEUE }, 0),
            (false, 0x04) => {
                let legal = self.io_submission.is_none() && self.io_completion.take().is_some();
                (if legal { 0 } else { INVALID_QUEUE }, 0)
            }
            (false, 0x02) => {
                self.device_write(command.prp1, &[0x5a; 512]);
                (0, 0)
            }
            (false, 0x09) => (0, 0),
            (false, 0x0a) => (0, 0x1234),
            (true, 0x00) => (if self.namespaces.contains_key(&command.namespace) { 0 } else { INVALID_NAMESPACE }, 0),
            (true, 0x01 | 0x02) => self.transfer(command),
            _ => {
                self.violation(format!("opcode {:#x}", command.opcode));
                (INVALID_OPCODE, 0)
            }
        }
    }

    fn identify(&mut self, command: &Fetched) -> (u16, u32) {
        let mut data = vec![0; 4096];
        match command.dwords[0] {
            1 => {
                data[4..24].copy_from_slice(b"SERIAL 1            ");
                data[24..64].fill(b' ');
                data[24..35].copy_from_slice(b"APPLE \x1bSSD\xff");
                data[64..72].copy_from_slice(b"387.100.");
                data[77] = self.mdts;
                let last = self.reported_namespaces.or(self.namespaces.keys().next_back().copied()).unwrap_or(0);
                data[516..520].copy_from_slice(&last.to_le_bytes());
                data[525] = 1;
            }
            0 => match self.namespaces.get(&command.namespace) {
                Some(namespace) => {
                    data[..8].copy_from_slice(&namespace.size.to_le_bytes());
                    data[8..16].copy_from_slice(&namespace.capacity.to_le_bytes());
                    data[16..24].copy_from_slice(&namespace.used.to_le_bytes());
                    // The format in use is the third.
                    (data[25], data[26]) = (2, 2);
                    data[136..138].copy_from_slice(&namespace.metadata.to_le_bytes());
                    data[138] = namespace.shift.unwrap_or(namespace.block_size.trailing_zeros() as u8);
                    data[384..388].copy_from_slice(&command.namespace.to_le_bytes());
                }
                None if command.namespace > 200 => return (0xb << 1, 0),
                None => {}
            },
            other => {
                self.violation(format!("Identify structure {other:#x}"));
                return (2 << 1, 0);
            }
        }
        self.device_write(command.prp1, &data);
        (0, 0)
    }

    fn transfer(&mut self, command: &Fetched) -> (u16, u32) {
        let [low, high, count, ..] = command.dwords;
        let (lba, count) = (u64::from(high) << 32 | u64::from(low), u64::from(count & 0xffff) + 1);
        let Some(mut namespace) = self.namespaces.remove(&command.namespace) else { return (0xb << 1, 0) };
        let size = namespace.block_size;
        let status = if lba.checked_add(count).is_none_or(|end| end > namespace.size) {
            0x80 << 1
        } else {
            let mut data = Vec::new();
            let spans = self.walk(command.prp1, command.prp2, count as usize * size);
            if command.opcode == 2 {
                for block in lba..lba + count {
                    data.extend(namespace.content.get(&block).cloned().unwrap_or_else(|| vec![0; size]));
                }
                let mut rest = &data[..];
                for (address, length) in spans {
                    let (part, after) = rest.split_at(length);
                    self.device_write(address, part);
                    rest = after;
                }
            } else {
                for (address, length) in spans {
                    let mut part = vec![0; length];
                    self.device_read(address, &mut part);
                    data.extend(part);
                }
                for (block, bytes) in (lba..).zip(data.chunks(size)) {
                    namespace.content.insert(block, bytes.to_vec());
                }
            }
            0
        };
        self.namespaces.insert(command.namespace, namespace);
        (status, 0)
    }

    /// The reference walker: the spans that two PRP entries name, by the specification's rules one by one.
    pub(crate) fn walk(&mut self, prp1: u64, prp2: u64, length: usize) -> Vec<(u64, usize)> {
        let first = (4096 - (prp1 % 4096) as usize).min(length);
        let mut spans = vec![(prp1, first)];
        let mut left = length - first;
        if left == 0 {
            if prp2 != 0 {
                self.violation(format!("PRP2 {prp2:#x} without a second page"));
            }
            return spans;
        }
        if left <= 4096 {
            if !prp2.is_multiple_of(4096) || prp2 == 0 {
                self.violation(format!("second page {prp2:#x}"));
            }
            spans.push((prp2, left));
            return spans;
        }
        let mut slot = prp2;
        while left > 0 {
            let entry = self.device_read_u64(slot);
            if !entry.is_multiple_of(4096) || entry == 0 {
                self.violation(format!("list entry {entry:#x}"));
                return spans;
            }
            if slot % 4096 == 4088 && left > 4096 {
                slot = entry;
                continue;
            }
            spans.push((entry, left.min(4096)));
            left -= left.min(4096);
            slot += 8;
        }
        spans
    }
}
