//! One random history: a machine, a caller with his policies, and a power cut at a random event.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use nvme::{
    Accept, Access, AdminCommand, BlockError, Buffer, CacheMode, CommandError, FlushPolicy, Operation, Request, Select,
    SubmitError, Ticket,
};
use sim::pcie::{Cut, Fault, Loss};

use crate::checker::{Account, BLOCK, BLOCKS, Versions, Write};
use crate::meddler::{Bug, SET_FEATURES, WRITE_CACHE};
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
enum Stop {
    /// The power failed.
    Cut,
    Unplanned(String),
}

/// A small seeded generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A command in flight.
enum Flight {
    Write {
        space: usize,
        write: Write,
        forced: bool,
    },
    /// A flush or a sync, with what it covers.
    Flush {
        space: usize,
        covers: Versions,
        /// Nothing is promised: the cache had been changed behind the driver's back.
        blind: bool,
        /// The promise holds from then on, in nanoseconds.
        by: Option<u64>,
    },
}

/// One namespace.
struct Space {
    id: u32,
    account: Account,
    /// Blocks with a write under way.
    busy: u64,
    no_cache: bool,
    policy: FlushPolicy,
}

pub(crate) struct History {
    random: Random,
    rig: Rig,
    kind: Kind,
    driver: Option<Driver>,
    spaces: Vec<Space>,
    flights: HashMap<Ticket, Flight>,
    /// Another host turned the cache on, and the driver has not read the feature since.
    blind: bool,
    /// Flushes fail now and then.
    faulty: bool,
    saveable: bool,
    delay: Duration,
    /// The longest time that a device flush takes, in nanoseconds.
    flush: u64,
    atomic: usize,
    operations: u64,
    trace: Vec<String>,
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
            trace: Vec::new(),
        }
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        // Histories are run by the ten thousand and read by the one.
        if std::env::var_os("DURABILITY_SEED").is_some() {
            let now = self.now();
            self.trace.push(format!("{now:>12} {}", what()));
        }
    }

    fn now(&self) -> u64 {
        use hal::Clock;
        self.rig.board.clock().now().as_nanos()
    }

    fn driver(&mut self) -> &mut Driver {
        self.driver.as_mut().expect("the controller is up")
    }

    /// What the driver answered, if the power did not fail before it could.
    fn answered<T, E: fmt::Debug>(&mut self, what: &str, result: Result<T, E>) -> Result<Result<T, E>, Stop> {
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

    fn bring_up(&mut self) -> Result<(), Stop> {
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

    fn choose_policy(&mut self, at: usize) -> Result<(), Stop> {
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

    fn any_space(&mut self) -> usize {
        self.random.below(self.spaces.len() as u64) as usize
    }

    fn mode(&mut self, at: usize) -> CacheMode {
        let id = self.spaces[at].id;
        self.driver().cache_mode(id).expect("it is there")
    }

    /// Whether what completes now in a namespace is promised to be durable.
    fn is_write_through(&mut self, at: usize) -> bool {
        self.mode(at) == CacheMode::WriteThrough && (self.spaces[at].no_cache || !self.blind)
    }

    /// Blocks that no write is under way to.
    fn free_blocks(&mut self, at: usize) -> Option<(usize, usize)> {
        let count = 1 + self.random.below(16) as usize;
        let first = self.random.below((BLOCKS - count) as u64 + 1) as usize;
        let mask = (1u64 << count) - 1 << first;
        (self.spaces[at].busy & mask == 0).then_some((first, count))
    }

    fn mark(&mut self, at: usize, write: Write, busy: bool) {
        let mask = (1u64 << write.count) - 1 << write.first;
        let space = &mut self.spaces[at];
        space.busy = if busy { space.busy | mask } else { space.busy & !mask };
    }

    fn submit_write(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let Some((first, count)) = self.free_blocks(at) else { return self.poll() };
        let id = self.spaces[at].id;
        let write = self.spaces[at].account.begin(first, count);
        let forced = self.random.one_in(8);
        let mut buffer = Buffer::new(self.driver().pool(), count * BLOCK).expect("memory");
        buffer.write_bytes(0, &write.bytes(id));
        let operation = Operation::Write { lba: first as u64, count: count as u32, force_unit_access: forced };
        self.say(|| format!("write {id} {write:?} forced {forced}"));
        match self.submit(Request { namespace: id, operation, buffer: Some(buffer) })? {
            Some(ticket) => {
                self.mark(at, write, true);
                self.flights.insert(ticket, Flight::Write { space: at, write, forced });
            }
            None => self.spaces[at].account.take_back(write),
        }
        Ok(())
    }

    fn submit(&mut self, request: Request<sim::pcie::Pool>) -> Result<Option<Ticket>, Stop> {
        let pairs = self.driver().queue_pairs();
        let pair = self.random.below(pairs.into()) as u16;
        let result = self.driver().submit_on(pair, request).map_err(|refused| refused.error);
        if matches!(result, Err(SubmitError::Busy)) {
            return self.poll().map(|()| None);
        }
        Ok(self.answered("submit", result)?.ok())
    }

    fn submit_flush(&mut self, operation: Operation) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        let covers = self.spaces[at].account.snapshot();
        let through = self.mode(at) == CacheMode::WriteThrough;
        let blind = through && !self.is_write_through(at);
        let by = match self.driver().flush_policy(id).expect("it is there") {
            FlushPolicy::Deferred { max_delay } if operation == Operation::Flush && !through => {
                Some(self.now() + max_delay.as_nanos() as u64 + self.flush)
            }
            _ => None,
        };
        self.say(|| format!("{operation:?} {id} blind {blind} by {by:?}"));
        if let Some(ticket) = self.submit(Request { namespace: id, operation, buffer: None })? {
            self.flights.insert(ticket, Flight::Flush { space: at, covers, blind, by });
        }
        if by.is_some() { self.poll() } else { Ok(()) }
    }

    /// A flush or a sync that ended well.
    fn flushed(&mut self, at: usize, covers: &Versions, blind: bool, by: Option<u64>) {
        match by {
            _ if blind => {}
            // Where flushes fail, a deferred one stays due, and nobody says until when.
            Some(_) if self.faulty => self.spaces[at].account.promise_by(u64::MAX, *covers),
            Some(moment) => self.spaces[at].account.promise_by(moment, *covers),
            None => self.spaces[at].account.promise(covers),
        }
    }

    fn poll(&mut self) -> Result<(), Stop> {
        if self.random.one_in(4) {
            let end = self.driver().wait();
            self.take(end)?;
        }
        self.poll_all()
    }

    fn poll_all(&mut self) -> Result<(), Stop> {
        loop {
            let end = self.driver().poll();
            if !self.take(end)? {
                return Ok(());
            }
        }
    }

    fn take(&mut self, end: Option<nvme::Completion<sim::pcie::Pool>>) -> Result<bool, Stop> {
        if self.rig.board.cut_at().is_some() {
            return Err(Stop::Cut);
        }
        let Some(end) = end else { return Ok(false) };
        let Some(flight) = self.flights.remove(&end.ticket) else {
            return Err(Stop::Unplanned(format!("an end of a command that nobody submitted: {:?}", end.ticket)));
        };
        let well = match end.result {
            Ok(()) => true,
            Err(CommandError::Reset) => false,
            Err(error) => self.answered("end", Err::<(), _>(error))?.is_ok(),
        };
        match flight {
            Flight::Write { space, write, forced } => {
                self.mark(space, write, false);
                let durable = forced || self.is_write_through(space);
                self.say(|| format!("end of {write:?}: {well}, durable {durable}"));
                if well {
                    self.spaces[space].account.acknowledge(write, durable);
                }
            }
            Flight::Flush { space, covers, blind, by } => {
                self.say(|| format!("end of flush by {by:?}: {well}"));
                if well {
                    self.flushed(space, &covers, blind, by);
                }
            }
        }
        Ok(true)
    }

    fn write_durable(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let Some((first, count)) = self.free_blocks(at) else { return Ok(()) };
        let id = self.spaces[at].id;
        let write = self.spaces[at].account.begin(first, count);
        let promised = self.mode(at) == CacheMode::WriteBack || self.is_write_through(at);
        self.say(|| format!("write durable {id} {write:?} promised {promised}"));
        let result = self.driver().write_durable(id, first as u64, &write.bytes(id));
        if self.answered("write durable", result)?.is_ok() {
            self.spaces[at].account.acknowledge(write, promised);
        }
        Ok(())
    }

    /// The blocking calls.
    fn flush_and_wait(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        let covers = self.spaces[at].account.snapshot();
        let blind = self.mode(at) == CacheMode::WriteThrough && !self.is_write_through(at);
        let deferred = matches!(self.driver().flush_policy(id), Ok(FlushPolicy::Deferred { .. }));
        let sync = self.random.one_in(3) || deferred;
        self.say(|| format!("flush and wait {id} sync {sync} blind {blind}"));
        let result = if sync { self.driver().sync(id) } else { self.driver().flush(id) };
        if self.answered("flush", result)?.is_ok() {
            self.flushed(at, &covers, blind, None);
        }
        Ok(())
    }

    /// Time passes, with a poll as often as a deferred flush asks for.
    fn idle(&mut self) -> Result<(), Stop> {
        let delay = self.delay.as_nanos() as u64;
        let total = self.random.pick(&[50_000, 500_000, delay / 4, delay, delay * 3 / 2]);
        let most = delay / 8 - delay / 80;
        self.say(|| format!("idle {total}"));
        let mut left = total;
        while left > 0 {
            let part = left.min(most);
            self.rig.board.pass(part);
            left -= part;
            self.poll()?;
        }
        Ok(())
    }

    fn settled_everywhere(&mut self) {
        self.spaces.iter_mut().for_each(|space| space.account.settled());
    }

    fn set_write_cache(&mut self) -> Result<(), Stop> {
        let (on, save) = (self.random.one_in(2), self.saveable && self.random.one_in(4));
        self.say(|| format!("cache {on} saved {save}"));
        let result = self.driver().set_write_cache(on, save);
        let well = self.answered("cache", result)?.is_ok();
        self.blind = false;
        if well && !on {
            self.spaces.iter_mut().for_each(|space| space.account.promise_all());
        }
        // Writes that ended meanwhile were awaited, and are durable too.
        if on || !well { Ok(()) } else { self.poll() }
    }

    fn set_features_raw(&mut self) -> Result<(), Stop> {
        let on = self.random.below(2) as u32;
        self.say(|| format!("raw cache {on}"));
        let command = AdminCommand { opcode: SET_FEATURES, namespace: 0, dwords: [WRITE_CACHE, on, 0, 0, 0, 0] };
        self.rig.wire().raw = true;
        let result = self.driver().pass_through(command, &mut []);
        self.rig.wire().raw = false;
        self.answered("raw", result)?.map(|_| self.blind = false).ok();
        Ok(())
    }

    fn other_host(&mut self) -> Result<(), Stop> {
        let on = self.random.one_in(2);
        self.say(|| format!("other host: cache {on}"));
        self.rig.board.change_write_cache(on);
        self.blind = on;
        Ok(())
    }

    fn read_feature(&mut self) -> Result<(), Stop> {
        self.say(|| "feature".into());
        let result = self.driver().feature(WRITE_CACHE as u8, 0, Select::Current);
        self.answered("feature", result)?.map(|_| self.blind = false).ok();
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Stop> {
        // With tags to spare, what was deferred is flushed before.
        let idle = self.random.one_in(2);
        while idle && self.driver().in_flight() > 0 {
            let end = self.driver().wait();
            self.take(end)?;
        }
        self.say(|| format!("reset, idle {idle}"));
        let result = self.driver().reset();
        if self.answered("reset", result)?.is_err() {
            return Err(Stop::Unplanned("the reset failed".into()));
        }
        self.blind = false;
        // A flush that fails does not hold a reset up: it stays due.
        if idle && !self.faulty {
            self.settled_everywhere();
        }
        self.poll()
    }

    fn suspend(&mut self) -> Result<(), Stop> {
        self.say(|| "suspend".into());
        self.rig.wire().suspending = true;
        let result = self.driver().quiesce();
        self.rig.wire().suspending = false;
        if self.answered("suspend", result)?.is_ok() {
            self.settled_everywhere();
        }
        if self.random.one_in(2) {
            // The battery goes empty while the machine sleeps.
            return Err(Stop::Cut);
        }
        Ok(())
    }

    fn read_only_for_a_moment(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        self.say(|| format!("read-only {id}"));
        let result = self.driver().set_access(id, Access::ReadOnly);
        if self.answered("read-only", result)?.is_ok() {
            self.spaces[at].account.settled();
        }
        let all = Access::ReadWrite { first: 0, blocks: BLOCKS as u64 };
        let result = self.driver().set_access(id, all);
        self.answered("read-write", result).map(|_| ())
    }

    fn shut_down(&mut self) -> Result<(), Stop> {
        self.say(|| "shutdown".into());
        let result = self.driver.take().expect("it is up").shutdown().map_err(|failure| failure.error);
        if self.answered("shutdown", result)?.is_err() && !self.faulty {
            return Err(Stop::Unplanned("the shutdown failed".into()));
        }
        // The controller's own shutdown makes its cache durable.
        for space in &mut self.spaces {
            space.account.promise_all();
            space.busy = 0;
        }
        self.flights.clear();
        self.bring_up()
    }

    fn fail_next_flush(&mut self) -> Result<(), Stop> {
        if self.faulty {
            self.say(|| "the next flush fails".into());
            let next = self.rig.board.flushes();
            self.rig.board.add_fault(Fault::FlushFails(next));
        }
        Ok(())
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
