//! The commands at work.

mod change;
mod device;
mod doorbells;
mod durability;
mod health;
mod look;
mod measure;
mod promise;
mod prompt;
mod show;
#[cfg(test)]
mod tests;

use core::fmt::{self, Write};

use hal::Platform;
use nvme::Access;

use crate::any::AnyController;
use crate::bootargs::Writable;
use crate::command::{self, COMMANDS, Command};
use crate::reason::Reason;
use crate::storage::Storage;
use crate::{step, tail};

/// The namespace that holds the disk, if there is one of that number. On ANS the others hold firmware's own data.
const DISK: u32 = 1;

/// Moments by which a run is measured.
struct Marks<'a> {
    mark: &'a mut dyn FnMut(&'static str),
    /// The first block was told of.
    told: bool,
}

impl Marks<'_> {
    /// A block of the disk was read; told of once.
    fn first_block(&mut self) {
        if !core::mem::replace(&mut self.told, true) {
            (self.mark)("first-block");
        }
    }
}

/// What is to be done after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next command.
    Command,
    /// The end.
    Shutdown,
}

/// Which disk the commands are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Selected {
    controller: usize,
    namespace: u32,
}

/// The blocks that were armed at start: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Armed {
    disk: Selected,
    first: u64,
    last: u64,
}

impl fmt::Display for Armed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { disk: Selected { controller, namespace }, first, last } = self;
        write!(f, "blocks {first} to {last} of namespace {namespace} of controller {controller}")
    }
}

/// Runs commands on the machine's storage.
pub struct Monitor<'a, P: Platform<Clock: Clone>> {
    storage: &'a mut dyn Storage<Platform = P>,
    selected: Selected,
    armed: Option<Armed>,
    /// The namespace whose flushes may be deferred.
    deferral: Option<Selected>,
    out: &'a mut dyn Write,
    marks: Marks<'a>,
    scratch: &'a mut [u8],
}

impl<'a, P: Platform<Clock: Clone>> Monitor<'a, P> {
    /// A monitor that writes to `out`, and tells `mark` of moments by which a run is measured: `first-block` when the first
    /// block of the disk was read, `bench-start` and `bench-end`. `scratch` takes partition entries and data on the way out:
    /// 128 KiB is a good size, two blocks the least.
    pub fn new(
        storage: &'a mut dyn Storage<Platform = P>,
        out: &'a mut dyn Write,
        mark: &'a mut dyn FnMut(&'static str),
        scratch: &'a mut [u8],
    ) -> Self {
        let namespace = storage.controller(0).map_or(DISK, |controller| disk(controller));
        let selected = Selected { controller: 0, namespace };
        Self { storage, selected, armed: None, deferral: None, out, marks: Marks { mark, told: false }, scratch }
    }

    /// Arms writes to these blocks of the disk that commands are for at first, and to no others.
    ///
    /// # Errors
    /// A range that is not on the disk, or a disk that takes no writes. Nothing is armed either where a controller is missing:
    /// the first one that is there may not be the one that is meant.
    pub fn arm(&mut self, writable: Writable) -> Result<(), Reason> {
        if !self.storage.is_complete() {
            return Err(Reason::new(
                "arming writes: a controller is missing, so the disk may be another than is meant",
            ));
        }
        let disk = self.selected;
        let id = disk.namespace;
        let controller = self.controller()?;
        let Some(namespace) = controller.namespace(id) else {
            return Err(Reason::during("arming writes", missing(controller, id)));
        };
        let blocks = namespace.blocks;
        let (first, last) = match writable {
            Writable::All => (0, blocks - 1),
            Writable::Blocks { first, last } if last < blocks => (first, last),
            Writable::Blocks { .. } => {
                return Err(Reason::new(format_args!("{writable}: the disk has {blocks} blocks")));
            }
        };
        let access = Access::ReadWrite { first, blocks: last - first + 1 };
        controller.set_access(id, access).map_err(|error| Reason::during("arming writes", error))?;
        self.armed = Some(Armed { disk, first, last });
        writeln!(self.out, "writes are armed: namespace {id}, {writable}").map_err(Reason::new)
    }

    /// What is done without any command: identity, namespaces, partitions.
    ///
    /// # Errors
    /// The first of them that failed.
    pub fn main_job(&mut self) -> Result<(), Reason> {
        for command in [Command::Info, Command::Namespaces, Command::Gpt] {
            self.run(command)?;
        }
        Ok(())
    }

    /// Runs a line.
    ///
    /// # Errors
    /// One line that says what is wrong with it, or what failed.
    pub fn line(&mut self, line: &str) -> Result<Next, Reason> {
        match command::parse(line) {
            Ok(Some(command)) => self.run(command),
            Ok(None) => Ok(Next::Command),
            Err(error) => Err(Reason::new(error)),
        }
    }

    fn run(&mut self, command: Command) -> Result<Next, Reason> {
        step::enter(command.name());
        let kept = self.keep_promises(promise::printing(command));
        kept.map_err(|reason| Reason::during(command.name(), reason))?;
        let done = match command {
            Command::Help => self.help(),
            Command::Controllers => self.controllers(),
            Command::Select { controller, namespace } => self.select(controller, namespace),
            Command::Info => self.info(),
            Command::Namespaces => self.namespaces(),
            Command::Smart => self.smart(),
            Command::Errors => self.errors(),
            Command::Features => self.features(),
            Command::Events => self.events(),
            Command::Gpt => self.gpt(),
            Command::Read(span) => self.read(span),
            Command::Sha256(span) => self.sha256(span),
            Command::Flush => self.flush(),
            Command::Sync => self.sync(),
            Command::Write(write) => self.write(write),
            Command::Cache(wish) => self.cache(wish),
            Command::Policy(wish) => self.policy(wish),
            Command::Stats => self.stats(),
            Command::Trim(span) => self.trim(span),
            Command::Zero(span) => self.zero(span),
            Command::Operations { first } => self.operations(first),
            Command::Doorbells(wish) => self.doorbells(wish),
            Command::Log => tail::show(self.out).map_err(Reason::new),
            Command::Shutdown => return Ok(Next::Shutdown),
            Command::RandomRead { count, depth, plain } => self.random_read(count, depth, plain),
            Command::Soak { count } => self.soak(count),
        };
        done.map_err(|reason| Reason::during(command.name(), reason))?;
        // What the coprocessor said meanwhile, and what is due by now.
        self.storage.serve()?;
        promise::poll(self.storage);
        Ok(Next::Command)
    }

    fn controller(&mut self) -> Result<&mut dyn AnyController<P>, Reason> {
        controller(self.storage, self.selected)
    }

    fn help(&mut self) -> Result<(), Reason> {
        for (usage, what) in COMMANDS {
            writeln!(self.out, "{usage:40}{what}").map_err(Reason::new)?;
        }
        Ok(())
    }

    /// Makes later commands go to that controller and namespace. What is armed stays what it is.
    fn select(&mut self, index: u64, namespace: Option<u64>) -> Result<(), Reason> {
        let known = usize::try_from(index).ok().filter(|index| *index < self.storage.count());
        let Some((index, controller)) = known.and_then(|at| self.storage.controller(at).map(|found| (at, found)))
        else {
            return Err(Reason::new(format_args!("there is no controller {index} (controllers lists them)")));
        };
        let id = match namespace {
            None => disk(controller),
            // No namespace has the identifier that stands for all.
            Some(wanted) => u32::try_from(wanted).unwrap_or(u32::MAX),
        };
        if controller.namespace(id).is_none() && namespace.is_some() {
            return Err(missing(controller, id));
        }
        self.selected = Selected { controller: index, namespace: id };
        writeln!(self.out, "selected: controller {index}, namespace {id}").map_err(Reason::new)
    }
}

fn controller<P: Platform<Clock: Clone>>(
    storage: &mut dyn Storage<Platform = P>,
    selected: Selected,
) -> Result<&mut dyn AnyController<P>, Reason> {
    let index = selected.controller;
    storage.controller(index).ok_or_else(|| Reason::new(format_args!("there is no controller {index}")))
}

/// The namespace that commands are for at first: number 1, or else the first that there is.
fn disk<P: Platform>(controller: &dyn AnyController<P>) -> u32 {
    let first = controller.namespaces().first().map_or(DISK, |namespace| namespace.id);
    if controller.namespace(DISK).is_some() { DISK } else { first }
}

/// Why there is no such namespace.
fn missing<P: Platform>(controller: &dyn AnyController<P>, id: u32) -> Reason {
    match controller.left_out().iter().find(|(left_out, _)| *left_out == id) {
        Some((_, why)) => Reason::new(format_args!("namespace {id} is not used: {why}")),
        None => Reason::new(format_args!("there is no namespace {id}")),
    }
}
