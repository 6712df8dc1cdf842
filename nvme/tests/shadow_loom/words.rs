//! The words that host and device share, over loom's atomics, and each side's view of them.
//!
//! Every access is relaxed. `publish` is a release fence, the full barrier a sequentially consistent one; a device that acts on
//! a word it has read puts an acquire fence behind that read, as the fetch of an entry follows the read that told of it.

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use nvme::transport::pcie::shadow::SharedWords as HostWords;
use sim::pcie::shadow::SharedWords as DeviceWords;

/// Where the one queue's doorbell lies in both pages: the tail of submission queue 1 with a stride of 4 bytes.
pub(crate) const OFFSET: u8 = 8;

/// One queue's word in each page, its doorbell register and its memory.
pub(crate) struct Shared {
    shadow: AtomicU32,
    event_index: AtomicU32,
    /// Counts the writes to the doorbell register.
    register: AtomicU32,
    /// Counts full barriers. A fence alone is no step that loom puts in another order; this makes it one. It orders nothing.
    barriers: AtomicU32,
    /// One word of each entry that stands for its content.
    pub(crate) entries: Vec<AtomicU32>,
    /// The last word of each entry of a completion queue.
    pub(crate) last_words: Vec<AtomicU32>,
}

impl Shared {
    /// A queue of so many entries, with these words in the pages.
    pub(crate) fn new(size: u16, shadow: u16, event_index: u16) -> Self {
        let words = || (0..size).map(|_| AtomicU32::new(0)).collect();
        Self {
            shadow: AtomicU32::new(shadow.into()),
            event_index: AtomicU32::new(event_index.into()),
            register: AtomicU32::new(0),
            barriers: AtomicU32::new(0),
            entries: words(),
            last_words: words(),
        }
    }

    fn full_barrier(&self) {
        self.mark_barrier();
        fence(Ordering::SeqCst);
    }

    /// All of a full barrier but the barrier.
    fn mark_barrier(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the doorbell register. A posted write does not pass earlier writes on its way to the device, so a host without
    /// the full barrier is not found broken for that.
    pub(crate) fn ring(&self) {
        self.register.fetch_add(1, Ordering::Release);
    }

    /// How often the register was written, as far as the device has heard.
    pub(crate) fn rings(&self) -> u32 {
        self.register.load(Ordering::Acquire)
    }
}

/// What a host leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omission {
    Nothing,
    /// The barrier between entries and shadow doorbell.
    Publish,
    /// The barrier between shadow doorbell and event index.
    Order,
    /// As `Order`, with the barrier between stores in its place.
    OrderStoresOnly,
}

/// The host's view.
pub(crate) struct Host<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) omission: Omission,
}

impl HostWords for Host<'_> {
    fn publish(&self) {
        if self.omission != Omission::Publish {
            fence(Ordering::Release);
        }
    }

    fn set_shadow(&self, offset: usize, value: u32) {
        assert_eq!(offset, usize::from(OFFSET), "a foreign shadow doorbell");
        self.shared.shadow.store(value, Ordering::Relaxed);
    }

    fn order(&self) {
        match self.omission {
            Omission::Order => self.shared.mark_barrier(),
            Omission::OrderStoresOnly => {
                self.shared.mark_barrier();
                fence(Ordering::Release);
            }
            Omission::Nothing | Omission::Publish => self.shared.full_barrier(),
        }
    }

    fn event_index(&self, offset: usize) -> u32 {
        assert_eq!(offset, usize::from(OFFSET), "a foreign event index");
        self.shared.event_index.load(Ordering::Relaxed)
    }
}

/// The device's view.
pub(crate) struct Device<'a> {
    pub(crate) shared: &'a Shared,
}

impl DeviceWords for Device<'_> {
    fn load(&mut self, offset: u64) -> u32 {
        assert_eq!(offset, u64::from(OFFSET), "a foreign shadow doorbell");
        self.shared.shadow.load(Ordering::Relaxed)
    }

    fn store(&mut self, offset: u64, value: u32) {
        assert_eq!(offset, u64::from(OFFSET), "a foreign event index");
        self.shared.event_index.store(value, Ordering::Relaxed);
    }

    fn full_barrier(&mut self) {
        self.shared.full_barrier();
    }
}
