//! One random history: a machine, a caller with his policies, and a power cut at a random event.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use nvme::{Accept, BlockError, CacheMode, FlushPolicy, Operation, Ticket};
use sim::pcie::{Cut, Loss};

use crate::checker::{Account, BLOCK, BLOCKS, Versions, Write};
use crate::meddler::Bug;
use crate::random::Random;
use crate::rig::{Driver, Rig, arm};

/// The policy that a history is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Strict,
    Coalesce,
    Deferred,
}

/// What came of a history that broke nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Operations before the cut.
    pub(crate) operations: u64,
    /// Writes that the medium did not keep, of those acknowledged: there was something to lose.
    pub(crate) lost: u64,
}

/// What a history found.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) seed: u64,
    /// A promise was broken; if not, something went wrong that the history had not planned.
    pub(crate) promise: bool,
    pub(crate) what: String,
    pub(crate) trace: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {:#x}: {}", self.seed, self.what)?;
        self.trace.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Why a history stops.
pub(crate) enum Stop {
    /// The power failed.
    Cut,
    Unplanned(String),
}

/// A command in flight.
pub(crate) enum Flight {
    Write {
        space: usize,
        write: Write,
        forced: bool,
    },
    /// A flush or a sync, with what it covers.
    Flush {
        space: usize,
        covers: Box<Versions>,
        /// Nothing is promised: the cache had been changed behind the driver's back.
        blind: bool,
        /// The promise holds from then on, in nanoseconds.
        by: Option<u64>,
    },
}

/// One namespace.
pub(crate) struct Space {
    pub(crate) id: u32,
    pub(crate) account: Account,
    /// Blocks with a write under way.
    pub(crate) busy: u64,
    pub(crate) no_cache: bool,
    pub(crate) policy: FlushPolicy,
}

pub(crate) struct History {
    pub(crate) random: Random,
    pub(crate) rig: Rig,
    pub(crate) kind: Kind,
    pub(crate) driver: Option<Driver>,
    pub(crate) spaces: Vec<Space>,
    pub(crate) flights: HashMap<Ticket, Flight>,
    /// Another host turned the cache on, and the driver has not read the feature since.
    pub(crate) blind: bool,
    /// Flushes fail now and then.
    pub(crate) faulty: bool,
    pub(crate) saveable: bool,
    pub(crate) delay: Duration,
    /// The longest time that a device flush takes, in nanoseconds.
    pub(crate) flush: u64,
    pub(crate) atomic: usize,
    pub(crate) operations: u64,
    /// Histories are run by the ten thousand and read by the one.
    pub(crate) traced: bool,
    pub(crate) trace: Vec<String>,
}

/// Runs the history of that seed.
pub(crate) fn run(seed: u64, kind: Kind, bug: Option<Bug>) -> Result<Outcome, Broken> {
    let mut history = History::new(seed, kind, bug);
    let stop = history.live();
    let unplanned = match stop {
        Err(Stop::Unplanned(what)) => Some(what),
        Ok(()) | Err(Stop::Cut) => None,
    };
    let outcome = match unplanned {
        Some(what) => Err((false, what)),
        None => history.look_at_what_survived(),
    };
    outcome.map_err(|(promise, what)| Broken { seed, promise, what, trace: history.trace })
}

impl History {
    fn new(seed: u64, kind: Kind, bug: Option<Bug>) -> Self {
        let mut random = Random(seed);
        let namespaces = 1 + random.below(4) as u32;
        let (awupf, flush) = (random.pick(&[0, 0, 1, 3, 7, 15]), random.pick(&[200_000, 1_000_000, 5_000_000]));
        let (saveable, newer) = (random.one_in(2), random.one_in(4));
        let no_cache = newer && namespaces > 1;
        let mut rig = Rig::new(namespaces, |model| {
            model.seed = random.next();
            model.write_cache.loss = if random.one_in(4) { Loss::All } else { Loss::Subset };
            model.write_cache.enabled = !random.one_in(4);
            model.write_cache.broadcast = random.pick(&[0, 2, 3]);
            (model.saveable, model.awupf, model.timings.flush) = (saveable, awupf, flush);
            model.version = if newer { 0x0002_0000 } else { 0x0001_0400 };
            model.namespaces.last_mut().unwrap().no_cache = no_cache;
        });
        (rig.config.depth, rig.config.queue_pairs) = (random.pick(&[2, 4, 8]), random.pick(&[1, 1, 2]));
        let faulty = random.one_in(4);
        if kind == Kind::Deferred && !faulty {
            // Dates can be kept only where a device flush finds a tag, and takes less than an eighth of the delay.
            rig.config.depth = 8 + 4 * random.below(2) as u16;
        }
        rig.wire().bug = bug;
        let spaces = (1..=namespaces).map(|id| Space {
            id,
            account: Account::new(id),
            busy: 0,
            no_cache: no_cache && id == namespaces,
            policy: FlushPolicy::Strict,
        });
        let delay = Duration::from_millis(random.pick(&[if flush > 1_000_000 { 100 } else { 20 }, 100, 1000]));
        Self {
            spaces: spaces.collect(),
            random,
            rig,
            kind,
            driver: None,
            flights: HashMap::new(),
            blind: false,
            faulty,
            saveable,
            delay,
            flush: flush / 2 * 3 + 500_000,
            atomic: usize::from(awupf) + 1,
            operations: 0,
            traced: std::env::var_os("DURABILITY_SEED").is_some(),
            trace: Vec::new(),
        }
    }

    pub(crate) fn say(&mut self, what: impl FnOnce() -> String) {
        if self.traced {
            let now = self.now();
            self.trace.push(format!("{now:>12} {}", what()));
        }
    }

    pub(crate) fn now(&self) -> u64 {
        use hal::Clock;
        self.rig.board.clock().now().as_nanos()
    }

    pub(crate) fn driver(&mut self) -> &mut Driver {
        self.driver.as_mut().expect("the controller is up")
    }

    /// What the driver answered, if the power did not fail before it could.
    pub(crate) fn answered<T, E: fmt::Debug>(
        &mut self,
        what: &str,
        result: Result<T, E>,
    ) -> Result<Result<T, E>, Stop> {
        if self.rig.board.cut_at().is_some() {
            return Err(Stop::Cut);
        }
        if let Err(error) = &result {
            let line = format!("{what}: {error:?}");
            self.say(|| line.clone());
            // Ends that nobody polled for hold every tag: that is the caller's to mend.
            let busy = line.contains("Busy");
            if busy {
                self.poll_all()?;
            }
            if !busy && !self.faulty {
                return Err(Stop::Unplanned(line));
            }
        }
        Ok(result)
    }

    fn live(&mut self) -> Result<(), Stop> {
        if self.random.one_in(16) {
            // Also while the controller is brought up.
            let events = 1 + self.random.below(100);
            self.rig.board.plan_cut(Some(Cut::AfterEvents(events)));
        }
        self.bring_up()?;
        let cut = match self.random.below(8) {
            0 => None,
            1 | 2 => Some(Cut::At(self.now() + self.random.below(self.delay.as_nanos() as u64 * 3))),
            3 | 4 if self.kind == Kind::Deferred => {
                Some(Cut::At(self.now() + self.random.below(self.delay.as_nanos() as u64 * 3)))
            }
            _ => Some(Cut::AfterEvents(1 + self.random.below(300))),
        };
        self.rig.board.plan_cut(cut);
        let steps = 8 + self.random.below(56);
        for _ in 0..steps {
            self.operations += 1;
            self.step()?;
        }
        Ok(())
    }

    pub(crate) fn bring_up(&mut self) -> Result<(), Stop> {
        let enabled = self.rig.enable();
        let driver = match enabled {
            Ok(driver) => driver,
            Err(_) if self.rig.board.cut_at().is_some() => return Err(Stop::Cut),
            Err(error) => return Err(Stop::Unplanned(format!("enable: {error:?}"))),
        };
        self.driver = Some(driver);
        self.blind = false;
        arm(self.driver());
        for at in 0..self.spaces.len() {
            self.choose_policy(at)?;
        }
        Ok(())
    }

    pub(crate) fn choose_policy(&mut self, at: usize) -> Result<(), Stop> {
        let usual = match self.kind {
            Kind::Strict => FlushPolicy::Strict,
            Kind::Coalesce => FlushPolicy::Coalesce,
            Kind::Deferred => FlushPolicy::Deferred { max_delay: self.delay },
        };
        let other = if self.random.one_in(2) { FlushPolicy::Strict } else { FlushPolicy::Coalesce };
        let policy = if self.random.one_in(4) { other } else { usual };
        let id = self.spaces[at].id;
        let result = match policy {
            FlushPolicy::Deferred { max_delay } => {
                self.driver().defer_flushes(id, max_delay, Accept::LossOfFlushedDataOnPowerCut)
            }
            _ => self.driver().set_flush_policy(id, policy),
        };
        self.say(|| format!("policy of {id}: {policy}"));
        if self.answered("policy", result)?.is_ok() {
            self.spaces[at].policy = policy;
            self.spaces[at].account.settled();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Stop> {
        match self.random.below(100) {
            0..30 => self.submit_write(),
            30..44 => self.submit_flush(Operation::Flush),
            44..47 => self.submit_flush(Operation::Sync),
            47..52 => self.write_durable(),
            52..58 => self.flush_and_wait(),
            58..72 => self.poll(),
            72..80 => self.idle(),
            80..85 => self.set_write_cache(),
            85..88 => self.set_features_raw(),
            88..90 => self.other_host(),
            90..92 => self.read_feature(),
            92..94 => self.reset(),
            94..96 => self.suspend(),
            96 => {
                let at = self.any_space();
                self.choose_policy(at)
            }
            97 => self.read_only_for_a_moment(),
            98 => self.shut_down(),
            _ => self.fail_next_flush(),
        }
    }

    pub(crate) fn any_space(&mut self) -> usize {
        self.random.below(self.spaces.len() as u64) as usize
    }

    pub(crate) fn mode(&mut self, at: usize) -> CacheMode {
        let id = self.spaces[at].id;
        self.driver().cache_mode(id).expect("it is there")
    }

    /// Whether what completes now in a namespace is promised to be durable.
    pub(crate) fn is_write_through(&mut self, at: usize) -> bool {
        self.mode(at) == CacheMode::WriteThrough && (self.spaces[at].no_cache || !self.blind)
    }

    /// The power fails, if it did not yet, and every block is read back.
    fn look_at_what_survived(&mut self) -> Result<Outcome, (bool, String)> {
        if self.rig.board.cut_at().is_none() {
            self.rig.board.plan_cut(Some(Cut::At(self.now())));
            self.rig.board.pass(1);
        }
        let cut = self.rig.board.cut_at().ok_or((false, "the power did not fail".to_owned()))?;
        if let Some(driver) = self.driver.take() {
            driver.abandon();
        }
        let mut lost = 0;
        let mut found = Vec::new();
        for (space, store) in self.spaces.iter_mut().zip(&self.rig.stores) {
            let acknowledged = space.account.snapshot();
            let survived = space.account.check(store, cut, self.atomic).map_err(|what| (true, what))?;
            lost += acknowledged.iter().zip(&survived).filter(|(before, after)| after < before).count() as u64;
            found.push(survived);
        }
        if let Some(broken) = self.rig.board.violations().first() {
            return Err((false, format!("{broken:?}")));
        }
        if self.random.one_in(16) {
            self.read_back(&found).map_err(|what| (false, what))?;
        }
        Ok(Outcome { operations: self.operations, lost })
    }

    /// The machine comes up again, and the driver reads what is on the medium.
    fn read_back(&mut self, found: &[Versions]) -> Result<(), String> {
        let text = |error: BlockError| error.to_string();
        self.rig.power_on();
        let mut driver = self.rig.enable().map_err(|error| error.to_string())?;
        for (space, versions) in self.spaces.iter().zip(found) {
            let mut bytes = vec![0; BLOCKS * BLOCK];
            driver.read(space.id, 0, &mut bytes).map_err(text)?;
            for (lba, (block, version)) in bytes.chunks(BLOCK).zip(versions).enumerate() {
                if block != crate::checker::content(space.id, lba, *version) {
                    return Err(format!("namespace {} block {lba} reads as something else than the medium", space.id));
                }
            }
        }
        driver.shutdown().map(drop).map_err(|failure| failure.error.to_string())
    }
}
