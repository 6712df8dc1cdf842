//! The plain driver's controller: registers, queues, commands.

use hal::DmaPool;

use super::{Failure, NVME, Plain};

/// The admin queue's index.
pub const ADMIN: usize = 0;
/// The IO queue's index.
pub const IO: usize = 1;

/// One queue pair.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Address of the submission slots, 64 bytes each.
    pub submission: u64,
    /// Address of the completion entries, 16 bytes each.
    pub completion: u64,
    /// Address of the TCBs, 128 bytes each.
    pub tcbs: u64,
    /// Entries.
    pub depth: u64,
    /// The next completion entry.
    pub head: u64,
    /// The phase bit that marks it as new.
    pub phase: u32,
}

/// One completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command-specific result.
    pub result: u32,
    /// The command id.
    pub id: u16,
    /// The status without its phase bit: 0 is success.
    pub status: u16,
}

impl Plain {
    /// Queue `index`, [`ADMIN`] or [`IO`].
    ///
    /// # Errors
    /// The controller was not enabled.
    pub fn queue(&mut self, index: usize) -> Result<&mut Queue, Failure> {
        self.queues.get_mut(index).ok_or_else(|| "no queues yet".into())
    }

    /// Writes a 64-bit register as two 32-bit ones, low first.
    pub fn write_wide(&self, offset: u64, value: u64) {
        self.write(NVME, offset, value & 0xffff_ffff);
        self.write(NVME, offset + 4, value >> 32);
    }

    /// Takes memory for both queue pairs.
    ///
    /// # Errors
    /// The pool is empty.
    pub fn make_queues(&mut self, admin: u64, io: u64) -> Result<(), Failure> {
        self.queues.clear();
        for depth in [admin, io] {
            let (submission, completion) = (self.memory(depth * 64)?, self.memory(depth * 16)?);
            let tcbs = self.memory(64 * 128)?;
            self.queues.push(Queue { submission, completion, tcbs, depth, head: 0, phase: 1 });
        }
        self.pool.publish();
        Ok(())
    }

    /// Apple's registers.
    ///
    /// # Errors
    /// There are no queues.
    pub fn program(&mut self) -> Result<(), Failure> {
        self.write(NVME, 0x24908, 1);
        self.write(NVME, 0x1210, 0x40_0040);
        self.write(NVME, 0x28100, 63);
        let control = self.read(NVME, 0x24008);
        self.write(NVME, 0x24008, control & !(1 << 11));
        let (admin, io) = (self.queue(ADMIN)?.clone(), self.queue(IO)?.tcbs);
        let entries = admin.depth - 1;
        self.write(NVME, 0x24, entries << 16 | entries);
        self.write_wide(0x28, admin.submission);
        self.write_wide(0x30, admin.completion);
        self.write_wide(0x28108, admin.tcbs);
        self.write_wide(0x28110, io);
        Ok(())
    }

    /// CC.EN, and the wait for RDY.
    ///
    /// # Errors
    /// RDY did not come.
    pub fn enable_controller(&mut self) -> Result<(), Failure> {
        self.write(NVME, 0x14, 0x46_0001);
        self.wait("CSTS.RDY", |this| (this.read(NVME, 0x1c) & 1 != 0).then_some(()))
    }

    /// Create IO CQ, Create IO SQ.
    ///
    /// # Errors
    /// A command failed.
    pub fn create_queues(&mut self) -> Result<(), Failure> {
        let io = self.queue(IO)?.clone();
        let size = u32::try_from(io.depth - 1).unwrap_or(0) << 16 | 1;
        self.command(ADMIN, 0, &entry(0x05, 0, 0, [io.completion, 0], [size, 1, 0]))?;
        self.command(ADMIN, 0, &entry(0x01, 0, 0, [io.submission, 0], [size, 1 << 16 | 1, 0]))?;
        Ok(())
    }

    /// The controller up to its IO queue.
    ///
    /// # Errors
    /// The step that did not come to its end.
    pub fn enable(&mut self, admin: u64, io: u64) -> Result<(), Failure> {
        self.make_queues(admin, io)?;
        self.program()?;
        self.enable_controller()?;
        self.create_queues()
    }

    /// Deletes the IO queue pair, then shuts the controller down and clears EN.
    ///
    /// # Errors
    /// The step that did not come to its end.
    pub fn disable(&mut self) -> Result<(), Failure> {
        self.command(ADMIN, 0, &entry(0x00, 0, 0, [0, 0], [1, 0, 0]))?;
        self.command(ADMIN, 0, &entry(0x04, 0, 0, [0, 0], [1, 0, 0]))?;
        self.write(NVME, 0x14, 0x46_4001);
        self.wait("CSTS.SHST", |this| (this.read(NVME, 0x1c) >> 2 & 3 == 2).then_some(()))?;
        self.write(NVME, 0x14, 0x46_4000);
        self.wait("CSTS.RDY clear", |this| (this.read(NVME, 0x1c) & 1 == 0).then_some(()))
    }

    /// Puts a TCB and an entry in their places.
    ///
    /// # Errors
    /// There are no queues.
    pub fn place(&mut self, queue: usize, tag: u64, entry: &[u8; 64], tcb: &[u8; 128]) -> Result<(), Failure> {
        let queue = self.queue(queue)?.clone();
        self.pool.write(queue.tcbs + tag * 128, tcb);
        self.pool.write(queue.submission + tag * 64, entry);
        self.pool.publish();
        Ok(())
    }

    /// Rings a linear doorbell.
    pub fn ring(&self, queue: usize, tag: u64) {
        self.write(NVME, if queue == ADMIN { 0x2490c } else { 0x24910 }, tag);
    }

    /// Waits for the next completion, without telling the device anything.
    ///
    /// # Errors
    /// It did not come.
    pub fn completion(&mut self, queue: usize) -> Result<Completion, Failure> {
        let Queue { completion, head, phase, depth, .. } = self.queue(queue)?.clone();
        let at = completion + head * 16;
        self.wait("completion", |this| (this.pool.read_word(at + 12) >> 16 & 1 == phase).then_some(()))?;
        self.pool.observe();
        let (result, last) = (self.pool.read_word(at), self.pool.read_word(at + 12));
        let queue = self.queue(queue)?;
        queue.head = (head + 1) % depth;
        if queue.head == 0 {
            queue.phase ^= 1;
        }
        Ok(Completion { result, id: (last & 0xffff) as u16, status: (last >> 17) as u16 })
    }

    /// Gives a tag's TCB back; what TCB_STAT says.
    pub fn invalidate(&self, tag: u64) -> u64 {
        self.write(NVME, 0x28118, tag);
        self.read(NVME, 0x28120)
    }

    /// Tells the completion queue's head.
    ///
    /// # Errors
    /// There are no queues.
    pub fn tell_head(&mut self, queue: usize) -> Result<(), Failure> {
        let head = self.queue(queue)?.head;
        self.write(NVME, if queue == ADMIN { 0x1004 } else { 0x100c }, head);
        Ok(())
    }

    /// One command from its TCB to the head write.
    ///
    /// # Errors
    /// No completion, or one with an error status.
    pub fn command(&mut self, queue: usize, tag: u64, entry: &[u8; 64]) -> Result<Completion, Failure> {
        let mut named = *entry;
        named.iter_mut().skip(2).take(2).zip(tag.to_le_bytes()).for_each(|(byte, value)| *byte = value);
        self.place(queue, tag, &named, &tcb(&named, tag, 3))?;
        self.ring(queue, tag);
        let completion = self.completion(queue)?;
        self.invalidate(tag);
        self.tell_head(queue)?;
        match completion.status {
            0 => Ok(completion),
            status => Err(format!("status {status:#06x}")),
        }
    }
}

/// A submission entry: opcode, id, namespace, PRPs, CDW10 to 12.
pub fn entry(opcode: u8, id: u16, namespace: u32, prps: [u64; 2], words: [u32; 3]) -> [u8; 64] {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend([opcode, 0]);
    bytes.extend(id.to_le_bytes());
    bytes.extend(namespace.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(prps.iter().flat_map(|prp| prp.to_le_bytes()));
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    fixed(bytes)
}

/// The TCB that belongs to an entry: direction bits 0 (the device writes) and 1 (it reads).
pub fn tcb(entry: &[u8; 64], tag: u64, direction: u8) -> [u8; 128] {
    let part = |from: usize, length: usize| entry.iter().copied().skip(from).take(length);
    let mut bytes: Vec<u8> = part(0, 1).collect();
    bytes.push(direction);
    bytes.extend(tag.to_le_bytes().first());
    bytes.push(0);
    bytes.extend(part(48, 2));
    bytes.resize(0x18, 0);
    bytes.extend(part(24, 16));
    fixed(bytes)
}

fn fixed<const N: usize>(mut bytes: Vec<u8>) -> [u8; N] {
    bytes.resize(N, 0);
    bytes.try_into().unwrap_or([0; N])
}
