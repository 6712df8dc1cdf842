//! The drives: models of a standard controller with assumed timings, and the driver on them.
//!
//! The model adds up to half to each command's time by chance, from a seed; so a mean of 125 units is asked for as 100.
//! Registers cost 100 ns an access; the processor's own work costs nothing.

use nvme::transport::pcie::{PcieConfig, PcieTransport};
use nvme::{Accept, Access, Config, Controller, FlushPolicy, ShadowDoorbells};
use sim::pcie::{Board, ControllerConfig, Fault, HostPlatform, NamespaceConfig, WriteCache};

use crate::Outcome;

/// Bytes of the namespace.
const BYTES: u64 = 16 << 20;
/// Bytes of a block, and of each write.
pub(crate) const BLOCK: u32 = 4096;
/// Blocks of the namespace.
pub(crate) const BLOCKS: u64 = BYTES / BLOCK as u64;
/// The one namespace.
pub(crate) const NAMESPACE: u32 = 1;

/// What the driver finds of a cache that is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// The feature reads as off: write-through, and flushes are spared.
    Off,
    /// The feature cannot be read: taken for on, and every flush goes to the device, as in a driver that never asks.
    Unreadable,
}

/// The driver, up, on a model.
pub(crate) struct Drive {
    pub(crate) controller: Controller<HostPlatform, PcieTransport<HostPlatform>>,
    pub(crate) board: Board,
}

/// A time of the model's whose mean is that, in nanoseconds.
const fn mean(nanoseconds: u64) -> u64 {
    nanoseconds / 5 * 4
}

impl Drive {
    /// A drive with M1's times, its write cache on.
    ///
    /// * A flush takes 17.5 ms, whatever was written: 17 to 18 ms were measured on M1 (public mail thread on apple-nvme, 2025).
    /// * A write takes 80 us: about what is seen there.
    /// * Flushes take turns. The thread counted 55 to 60 flushes a second, which would not be a limit if they passed beside each
    ///   other.
    /// * Writes pass beside a flush unhindered. Nobody has measured that; a drive that stopped for each flush would lose 2% under
    ///   a flush a second, and nothing where every write waits for its flush.
    ///
    /// It is the model of a standard controller and not of ANS, for which a coprocessor has to be booted first: the policies
    /// are the same code on both, and a command's registers cost 0.4 us there and 0.2 us here.
    pub(crate) fn m1(policy: FlushPolicy) -> Outcome<Self> {
        let mut config = config();
        (config.timings.write, config.timings.flush) = (mean(80_000), mean(17_500_000));
        let mut drive = Self::up(config)?;
        match policy {
            FlushPolicy::Deferred { max_delay } => {
                drive.controller.defer_flushes(NAMESPACE, max_delay, Accept::LossOfFlushedDataOnPowerCut)?;
            }
            kept => drive.controller.set_flush_policy(NAMESPACE, kept)?,
        }
        Ok(drive)
    }

    /// A drive of a data centre: a write cache that is present and off, and a flush that takes its time all the same, which it
    /// need not (a reviewer of Linux' patch of 2026 doubted that drives do).
    ///
    /// * A write takes 40 us: a usual figure for such drives, which acknowledge from memory that survives a power cut.
    /// * Four commands at once, so 100,000 writes a second: within the 50,000 to 200,000 that such drives are sold with for
    ///   writes at random that go on.
    /// * A flush takes 500 us, and flushes take turns. **This one is chosen by the result**: the patch saw a factor of 10.8 at
    ///   depth 1, so a flush there takes at least ten writes' time. The figure at depth 1 therefore only says that the driver
    ///   adds nothing of its own; the other two follow from the model.
    pub(crate) fn data_centre(cache: Cache) -> Outcome<Self> {
        let mut config = config();
        config.write_cache = WriteCache { enabled: false, ..WriteCache::default() };
        (config.timings.write, config.timings.flush) = (mean(40_000), mean(500_000));
        // The limit is one of each queue; event requests, which wait in the admin queue for good, must leave room there.
        (config.request_slots, config.event_limit) = (4, 0);
        if cache == Cache::Unreadable {
            // Get Features, internal error, do not retry.
            config.faults.push(Fault::AdminError { opcode: 0x0a, half_word: 0x800c });
        }
        Self::up(config)
    }

    fn up(config: ControllerConfig) -> Outcome<Self> {
        let board = Board::new(config);
        let transport = PcieConfig::new(ShadowDoorbells::Off);
        let parts = (board.bar(), board.pool(), board.clock());
        let up = Controller::enable(parts.0, parts.1, parts.2, Config::default(), transport, &mut |_| ());
        let mut controller = up.map_err(|failure| format!("{failure:?}"))?;
        controller.set_access(NAMESPACE, Access::ReadWrite { first: 0, blocks: BLOCKS })?;
        Ok(Self { controller, board })
    }

    /// Flushes that the device itself has counted.
    pub(crate) fn flushes(&self) -> u64 {
        self.board.counters().commands.get("flush").copied().unwrap_or(0)
    }
}

fn config() -> ControllerConfig {
    let mut config = ControllerConfig::new();
    config.namespaces = vec![NamespaceConfig::new(NAMESPACE, BLOCK, BYTES)];
    config.timings.flushes_in_turn = true;
    config
}
