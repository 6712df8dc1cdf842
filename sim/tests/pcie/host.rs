//! A plain scripted driver, written in bare numbers so that it checks the models' facts as well.

use hal::{Clock, DmaPool, Mmio};
use sim::pcie::{Board, ControllerConfig, Pool, Window};

/// A command as a driver builds it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Script {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) namespace: u32,
    pub(crate) prp: [u64; 2],
    pub(crate) dwords: [u32; 6],
}

impl Script {
    pub(crate) fn admin(opcode: u8, first: u32, second: u32) -> Self {
        Self { opcode, dwords: [first, second, 0, 0, 0, 0], ..Self::default() }
    }

    pub(crate) fn identify(cns: u32, namespace: u32, page: u64) -> Self {
        Self { namespace, prp: [page, 0], ..Self::admin(6, cns, 0) }
    }

    pub(crate) fn log(log: u32, bytes: u32, page: u64) -> Self {
        Self { namespace: 0xffff_ffff, prp: [page, 0], ..Self::admin(2, (bytes / 4 - 1) << 16 | log, 0) }
    }

    pub(crate) fn create_completions(id: u16, size: u16, base: u64) -> Self {
        let (id, size) = (u32::from(id), u32::from(size));
        Self { prp: [base, 0], ..Self::admin(5, size.wrapping_sub(1) << 16 | id, 3) }
    }

    pub(crate) fn create_submissions(id: u16, size: u16, base: u64) -> Self {
        let (id, size) = (u32::from(id), u32::from(size));
        Self { prp: [base, 0], ..Self::admin(1, size.wrapping_sub(1) << 16 | id, id << 16 | 1) }
    }

    pub(crate) fn io(opcode: u8, block: u64, count: u32, prp: [u64; 2]) -> Self {
        let dwords = [block as u32, (block >> 32) as u32, count - 1, 0, 0, 0];
        Self { opcode, namespace: 1, prp, dwords, ..Self::default() }
    }

    pub(crate) fn read(block: u64, count: u32, prp: [u64; 2]) -> Self {
        Self::io(2, block, count, prp)
    }

    pub(crate) fn write(block: u64, count: u32, prp: [u64; 2]) -> Self {
        Self::io(1, block, count, prp)
    }

    pub(crate) fn flush() -> Self {
        Self { namespace: 1, ..Self::default() }
    }

    pub(crate) fn bytes(&self, id: u16) -> [u8; 64] {
        let mut bytes = [0; 64];
        (bytes[0], bytes[1]) = (self.opcode, self.flags);
        bytes[2..4].copy_from_slice(&id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.namespace.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.prp[0].to_le_bytes());
        bytes[32..40].copy_from_slice(&self.prp[1].to_le_bytes());
        for (slot, dword) in bytes[40..].chunks_mut(4).zip(self.dwords) {
            slot.copy_from_slice(&dword.to_le_bytes());
        }
        bytes
    }
}

/// A completion entry as a driver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) result: u32,
    pub(crate) head: u16,
    pub(crate) queue: u16,
    pub(crate) id: u16,
    /// Type and code: (status >> 1) & 0x7ff.
    pub(crate) status: u16,
    pub(crate) half_word: u16,
}

/// One queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) id: u16,
    pub(crate) size: u16,
    pub(crate) submissions: u64,
    pub(crate) completions: u64,
    pub(crate) tail: u16,
    pub(crate) head: u16,
    pub(crate) phase: u16,
    pub(crate) next_id: u16,
}

/// How the driver rings where it has shadow pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ringing {
    /// By the shadow, and by MMIO where the event index asks for it.
    Shadow,
    /// The same without the barrier.
    Unordered,
    /// By the shadow alone, whatever the event index says.
    Silent,
    /// By MMIO alone, although there are pages.
    MmioOnly,
    /// Both, always.
    Both,
}

pub(crate) struct Host {
    pub(crate) board: Board,
    pub(crate) pool: Pool,
    pub(crate) bar: Window,
    pub(crate) stride: usize,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) pages: Option<(u64, u64)>,
    pub(crate) ringing: Ringing,
    pub(crate) data: u64,
}

/// Entries of the admin queues.
const ADMIN_SIZE: u16 = 32;
/// Bytes of the data buffer.
pub(crate) const DATA_BYTES: usize = 1 << 20;

impl Host {
    /// A driver at a controller that is off.
    pub(crate) fn new(config: ControllerConfig) -> Self {
        let stride = 4 << config.capabilities.doorbell_stride;
        Self::at(&Board::new(config), stride)
    }

    pub(crate) fn at(board: &Board, stride: usize) -> Self {
        let (pool, bar) = (board.pool(), board.bar());
        let data = pool.reserve(DATA_BYTES, 65536).unwrap();
        pool.publish();
        let (pairs, pages, ringing) = (Vec::new(), None, Ringing::Shadow);
        Self { board: board.clone(), pool, bar, stride, pairs, pages, ringing, data }
    }

    /// A driver with the controller enabled.
    pub(crate) fn enabled(config: ControllerConfig) -> Self {
        let mut host = Self::new(config);
        host.enable(0);
        host.wait_status(1, 1);
        host
    }

    /// A driver with one IO queue pair of 16 entries.
    pub(crate) fn up(config: ControllerConfig) -> Self {
        let mut host = Self::enabled(config);
        host.create_pair(1, 16);
        host
    }

    pub(crate) fn memory(&self, bytes: usize) -> u64 {
        let address = self.pool.reserve(bytes, 65536).unwrap();
        self.pool.publish();
        address
    }

    pub(crate) fn enable(&mut self, page_size: u32) {
        let pair = self.new_pair(0, ADMIN_SIZE);
        self.bar.write32(0x24, u32::from(ADMIN_SIZE - 1) << 16 | u32::from(ADMIN_SIZE - 1));
        self.bar.write_halves(0x28, pair.submissions);
        self.bar.write_halves(0x30, pair.completions);
        self.pairs = vec![pair];
        self.bar.write32(0x14, 4 << 20 | 6 << 16 | page_size << 7 | 1);
    }

    /// Waits until CSTS has that value under that mask.
    pub(crate) fn wait_status(&self, mask: u32, value: u32) {
        for _ in 0..100_000 {
            if self.bar.read32(0x1c) & mask == value {
                return;
            }
            self.board.clock().relax();
        }
        panic!("CSTS is {:#x}", self.bar.read32(0x1c));
    }

    pub(crate) fn new_pair(&self, id: u16, size: u16) -> Pair {
        let (submissions, completions) = (self.memory(usize::from(size) * 64), self.memory(usize::from(size) * 16));
        Pair { id, size, submissions, completions, tail: 0, head: 0, phase: 1, next_id: 0 }
    }

    pub(crate) fn create_pair(&mut self, id: u16, size: u16) {
        let pair = self.new_pair(id, size);
        assert_eq!(self.admin(Script::create_completions(id, size, pair.completions)).status, 0);
        assert_eq!(self.admin(Script::create_submissions(id, size, pair.submissions)).status, 0);
        self.pairs.push(pair);
    }

    pub(crate) fn pair(&mut self, id: u16) -> &mut Pair {
        self.pairs.iter_mut().find(|pair| pair.id == id).unwrap()
    }

    /// Places an entry without ringing; its identifier.
    pub(crate) fn place(&mut self, queue: u16, script: &Script) -> u16 {
        let pool = self.pool.clone();
        let pair = self.pair(queue);
        let id = pair.next_id;
        pair.next_id = (pair.next_id + 1) % 0x1000;
        pool.write(pair.submissions + u64::from(pair.tail) * 64, &script.bytes(id));
        pair.tail = (pair.tail + 1) % pair.size;
        id
    }

    /// Rings for everything that is placed.
    pub(crate) fn ring(&mut self, queue: u16) {
        self.pool.publish();
        let tail = self.pair(queue).tail;
        self.doorbell(usize::from(queue) * 2, queue, tail);
    }

    pub(crate) fn submit(&mut self, queue: u16, script: Script) -> u16 {
        let id = self.place(queue, &script);
        self.ring(queue);
        id
    }

    fn word(&self, address: u64) -> u16 {
        (self.pool.read_word(address) & 0xffff) as u16
    }

    /// Doorbell number `index` becomes `value`.
    fn doorbell(&mut self, index: usize, queue: u16, value: u16) {
        let offset = (index * self.stride) as u64;
        let by_shadow = self.pages.filter(|_| queue != 0 && self.ringing != Ringing::MmioOnly);
        let Some((shadow, events)) = by_shadow else {
            return self.bar.write32(0x1000 + index * self.stride, value.into());
        };
        let old = self.word(shadow + offset);
        self.pool.write(shadow + offset, &u32::from(value).to_le_bytes());
        if self.ringing != Ringing::Unordered {
            self.pool.order();
        }
        let event = self.word(events + offset);
        let asks = value.wrapping_sub(event).wrapping_sub(1) < value.wrapping_sub(old);
        if self.ringing == Ringing::Both || (asks && self.ringing != Ringing::Silent) {
            self.bar.write32(0x1000 + index * self.stride, value.into());
        }
    }

    /// Takes the next completion, if there is one, without telling.
    pub(crate) fn take(&mut self, queue: u16) -> Option<Entry> {
        let pool = self.pool.clone();
        let pair = self.pair(queue);
        let address = pair.completions + u64::from(pair.head) * 16;
        if (pool.read_word(address + 12) >> 16 & 1) as u16 != pair.phase {
            return None;
        }
        pool.observe();
        let mut bytes = [0; 16];
        pool.read(address, &mut bytes);
        pair.head = (pair.head + 1) % pair.size;
        if pair.head == 0 {
            pair.phase ^= 1;
        }
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Some(Entry {
            result: u32::from(half(0)) | u32::from(half(2)) << 16,
            head: half(8),
            queue: half(10),
            id: half(12),
            status: half(14) >> 1 & 0x7ff,
            half_word: half(14) & !1,
        })
    }

    /// Tells how far completions were taken.
    pub(crate) fn acknowledge(&mut self, queue: u16) {
        let head = self.pair(queue).head;
        self.doorbell(usize::from(queue) * 2 + 1, queue, head);
    }

    /// Waits that many nanoseconds at most for a completion, and acknowledges it.
    pub(crate) fn wait_for(&mut self, queue: u16, nanoseconds: u64) -> Option<Entry> {
        let end = self.board.clock().now().as_nanos() + nanoseconds;
        loop {
            if let Some(entry) = self.take(queue) {
                self.acknowledge(queue);
                return Some(entry);
            }
            if self.board.clock().now().as_nanos() > end {
                return None;
            }
            self.board.clock().relax();
        }
    }

    pub(crate) fn wait(&mut self, queue: u16) -> Entry {
        self.wait_for(queue, 200_000_000).unwrap()
    }

    pub(crate) fn run(&mut self, queue: u16, script: Script) -> Entry {
        let id = self.submit(queue, script);
        let entry = self.wait(queue);
        assert_eq!((entry.id, entry.queue), (id, queue));
        entry
    }

    pub(crate) fn admin(&mut self, script: Script) -> Entry {
        self.run(0, script)
    }

    pub(crate) fn io(&mut self, script: Script) -> Entry {
        self.run(1, script)
    }

    /// Puts bytes into memory and publishes them.
    pub(crate) fn put(&self, address: u64, bytes: &[u8]) {
        self.pool.write(address, bytes);
        self.pool.publish();
    }

    pub(crate) fn get(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.pool.observe();
        self.pool.read(address, &mut data);
        data
    }

    /// Two zeroed pages, given to the controller.
    pub(crate) fn bind(&mut self) -> (u64, u64) {
        let pages = (self.memory(4096), self.memory(4096));
        let entry = self.admin(Script { prp: [pages.0, pages.1], ..Script::admin(0x7c, 0, 0) });
        assert_eq!(entry.status, 0);
        self.pages = Some(pages);
        pages
    }

    /// Identify, a log or any other structure in the data buffer.
    pub(crate) fn page(&mut self, script: impl FnOnce(u64) -> Script, bytes: usize) -> Vec<u8> {
        let data = self.data;
        let entry = self.admin(script(data));
        assert_eq!(entry.status, 0);
        self.get(data, bytes)
    }

    pub(crate) fn reset(&mut self) {
        let cc = self.bar.read32(0x14);
        self.bar.write32(0x14, cc & !0xc001);
        self.wait_status(1, 0);
        self.pages = None;
        self.pairs.clear();
    }

    pub(crate) fn shut_down(&mut self) {
        let cc = self.bar.read32(0x14);
        self.bar.write32(0x14, cc | 1 << 14);
        self.wait_status(0xc, 8);
        self.reset();
    }

    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let violations: Vec<String> = self.board.violations().iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    #[track_caller]
    pub(crate) fn assert_only(&self, rule: &str) {
        let rules: Vec<&str> = self.board.violations().iter().map(|violation| violation.rule).collect();
        assert!(!rules.is_empty() && rules.iter().all(|found| *found == rule), "{rules:?}");
    }
}

pub(crate) fn word(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
}
