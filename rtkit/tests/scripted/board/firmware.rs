//! The small firmware: says what a coprocessor says, bent as a test wants it.

use std::collections::BTreeMap;
use std::time::Duration;

use rtkit::Message;

const SOON: Duration = Duration::from_micros(300);

/// What the firmware says, and when.
#[derive(Clone)]
pub(crate) struct Firmware {
    /// Started by its CPU, so HELLO waits already; else it was left running and a power request wakes it.
    pub(crate) cold: bool,
    /// Lowest and highest version.
    pub(crate) versions: (u16, u16),
    /// The endpoint map's pages.
    pub(crate) pages: Vec<u32>,
    /// Whether the last page is marked as last.
    pub(crate) map_ends: bool,
    /// What an endpoint says when it is started.
    pub(crate) on_start: BTreeMap<u8, Vec<u64>>,
    /// How long after the map's end the coprocessor is on; never if `None`.
    pub(crate) on_after: Option<Duration>,
    /// What it acknowledges that it is then.
    pub(crate) on_state: u64,
    /// What is acknowledged for each power state asked for, by message type; other states are acknowledged as asked.
    pub(crate) power_answers: BTreeMap<(u64, u64), Option<u64>>,
    /// Said before everything else.
    pub(crate) leftovers: Vec<Message>,
    /// Endpoint numbers beyond a byte, by payload.
    pub(crate) odd_endpoints: BTreeMap<u64, u64>,
    /// Has said HELLO since it started or slept.
    pub(crate) woken: bool,
    /// The page of the map that comes next.
    pub(crate) next_page: usize,
}

impl Default for Firmware {
    fn default() -> Self {
        Self {
            cold: true,
            versions: (11, 12),
            pages: vec![0x51f, 0x1],
            map_ends: true,
            // As in the recorded boots: crashlog and ioreport want 16 KiB, syslog 32 KiB for 32 entries of 200 bytes.
            on_start: BTreeMap::from([
                (1, vec![0x0010_4000_0000_0000]),
                (2, vec![0x0080_0000_c800_0020, 0x0010_8000_0000_0000]),
                (4, vec![0x0010_4000_0000_0000]),
            ]),
            on_after: Some(Duration::from_millis(2)),
            on_state: 0x20,
            power_answers: BTreeMap::new(),
            leftovers: Vec::new(),
            odd_endpoints: BTreeMap::new(),
            woken: false,
            next_page: 0,
        }
    }
}

impl Firmware {
    /// What a coprocessor left running by an earlier stage does: nothing, until it is woken.
    pub(crate) fn left_running() -> Self {
        Self { cold: false, ..Self::default() }
    }

    pub(super) fn cold_start(&mut self) -> Vec<(Duration, Message)> {
        let mut said: Vec<_> = self.leftovers.iter().map(|&message| (Duration::ZERO, message)).collect();
        if self.cold {
            said.push(self.hello());
        }
        said
    }

    pub(super) fn endpoint_word(&self, message: Message) -> u64 {
        self.odd_endpoints.get(&message.payload).copied().unwrap_or(u64::from(message.endpoint))
    }

    pub(super) fn hear(&mut self, message: Message) -> Vec<(Duration, Message)> {
        if message.endpoint != 0 {
            return Vec::new();
        }
        let (kind, state) = (message.payload >> 52, message.payload & 0xffff);
        match kind {
            0x2 => {
                self.next_page = 0;
                vec![self.page()]
            }
            0x5 => {
                let endpoint = (message.payload >> 32) as u8;
                let said = self.on_start.get(&endpoint).cloned().unwrap_or_default();
                said.into_iter().map(|payload| (SOON, Message { endpoint, payload })).collect()
            }
            0x6 if state & 0xff == 0x20 && self.woken => Vec::new(),
            0x6 if state & 0xff == 0x20 => vec![self.hello()],
            0x6 => {
                self.woken = false;
                self.acknowledge(0x6, 0x7, state)
            }
            0x8 if message.payload & 1 != 0 => vec![self.page()],
            0x8 => self.on_after.map(|delay| (delay, management(0x7, self.on_state))).into_iter().collect(),
            0xb => self.acknowledge(0xb, 0xb, state),
            _ => panic!("message of type {kind:#x} on the management endpoint"),
        }
    }

    fn hello(&mut self) -> (Duration, Message) {
        self.woken = true;
        (SOON, management(1, u64::from(self.versions.1) << 16 | u64::from(self.versions.0)))
    }

    fn page(&mut self) -> (Duration, Message) {
        let index = self.next_page;
        self.next_page += 1;
        let last = self.map_ends && index + 1 >= self.pages.len();
        let bitmap = self.pages.get(index).copied().unwrap_or_default();
        let base = (index as u64 & 7) << 32;
        (SOON, management(8, u64::from(last) << 51 | base | u64::from(bitmap)))
    }

    fn acknowledge(&self, asked: u64, kind: u64, state: u64) -> Vec<(Duration, Message)> {
        let answer = self.power_answers.get(&(asked, state)).copied().unwrap_or(Some(state));
        answer.map(|state| (SOON, management(kind, state))).into_iter().collect()
    }
}

/// A management message.
pub(crate) fn management(kind: u64, bits: u64) -> Message {
    Message { endpoint: 0, payload: kind << 52 | bits }
}
