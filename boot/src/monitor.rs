//! The commands at work.

mod device;
mod prompt;

use core::fmt::Write;

use hal::Clock;
use nvme::{Access, BlockDevice, Controller};
use sha2::{Digest, Sha256};

use crate::bootargs::Writable;
use crate::command::{self, COMMANDS, Command, Span};
use crate::dump::Dump;
use crate::reason::Reason;
use crate::storage::Storage;
use crate::{gpt, load, microseconds, step, stream, tail};
use device::Device;

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

/// Runs commands on the machine's storage.
pub struct Monitor<'a, S: Storage> {
    storage: &'a mut S,
    selected: Selected,
    out: &'a mut dyn Write,
    marks: Marks<'a>,
    scratch: &'a mut [u8],
}

impl<'a, S: Storage> Monitor<'a, S> {
    /// A monitor that writes to `out`, and tells `mark` of moments by which a run is measured: `first-block` when the first
    /// block of the disk was read, `bench-start` and `bench-end`. `scratch` takes partition entries and data on the way out:
    /// 128 KiB is a good size, two blocks the least.
    pub fn new(
        storage: &'a mut S,
        out: &'a mut dyn Write,
        mark: &'a mut dyn FnMut(&'static str),
        scratch: &'a mut [u8],
    ) -> Self {
        let namespace = storage.controller(0).map_or(DISK, |controller| disk(controller));
        let selected = Selected { controller: 0, namespace };
        Self { storage, selected, out, marks: Marks { mark, told: false }, scratch }
    }

    /// Arms writes to these blocks of the disk that commands are for at first, and to no others.
    ///
    /// # Errors
    /// A range that is not on the disk, or a disk that takes no writes.
    pub fn arm(&mut self, writable: Writable) -> Result<(), Reason> {
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let Some(namespace) = controller.namespace(id) else {
            return Err(Reason::new(format_args!("there is no namespace {id} to arm writes for")));
        };
        let access = match writable {
            Writable::All => Access::ReadWrite { first: 0, blocks: namespace.blocks },
            Writable::Blocks { first, last } if last < namespace.blocks => {
                Access::ReadWrite { first, blocks: last - first + 1 }
            }
            Writable::Blocks { .. } => {
                let blocks = namespace.blocks;
                return Err(Reason::new(format_args!("{writable}: the disk has {blocks} blocks")));
            }
        };
        controller.set_access(id, access).map_err(Reason::new)?;
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
        step::enter(name(command));
        let done = match command {
            Command::Help => self.help(),
            Command::Info => self.info(),
            Command::Namespaces => self.namespaces(),
            Command::Gpt => self.gpt(),
            Command::Read(span) => self.read(span),
            Command::Sha256(span) => self.sha256(span),
            Command::Flush => self.flush(),
            Command::Log => tail::show(self.out).map_err(Reason::new),
            Command::Shutdown => return Ok(Next::Shutdown),
            Command::RandomRead { count, depth } => self.random_read(count, depth),
            Command::Soak { count } => self.soak(count),
        };
        done.map_err(|reason| Reason::during(name(command), reason))?;
        // What the coprocessor said meanwhile.
        self.storage.serve()?;
        Ok(Next::Command)
    }

    fn controller(&mut self) -> Result<&mut Controller<S::Platform, S::Transport>, Reason> {
        controller(self.storage, self.selected)
    }

    fn help(&mut self) -> Result<(), Reason> {
        for (usage, what) in COMMANDS {
            writeln!(self.out, "{usage:28}{what}").map_err(Reason::new)?;
        }
        Ok(())
    }

    fn info(&mut self) -> Result<(), Reason> {
        let identity = *self.controller()?.identity();
        let depth = self.controller()?.depth();
        let cache = if identity.volatile_cache { "volatile write cache" } else { "no volatile write cache" };
        writeln!(
            self.out,
            "model      {}\nserial     {}\nfirmware   {}\nNVMe       {}\nlimits     {} KiB per command, {depth} commands in \
             flight\ncache      {cache}",
            identity.model,
            identity.serial,
            identity.firmware,
            identity.version,
            identity.transfer >> 10
        )
        .map_err(Reason::new)
    }

    fn namespaces(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, out, .. } = self;
        for namespace in controller(*storage, *selected)?.namespaces() {
            let (blocks, block_size) = (namespace.blocks, namespace.block_size());
            let kibibytes = blocks.saturating_mul(u64::from(block_size)) >> 10;
            let (size, unit) = if kibibytes < 1 << 10 { (kibibytes, "KiB") } else { (kibibytes >> 10, "MiB") };
            let role = if namespace.id == selected.namespace { ", the disk" } else { "" };
            writeln!(
                out,
                "namespace {}: {blocks} blocks of {block_size} bytes, {size} {unit}, type {}, read-only{role}",
                namespace.id, namespace.vendor_type
            )
            .map_err(Reason::new)?;
        }
        if controller(*storage, *selected)?.namespaces().is_empty() {
            Err(Reason::new("no active namespace"))
        } else {
            Ok(())
        }
    }

    fn gpt(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, out, marks, scratch } = self;
        let disk = controller(*storage, *selected)?.device(selected.namespace).map_err(Reason::new)?;
        let mut disk = Device::new(disk, marks)?;
        gpt::list(&mut disk, scratch, *out).map_err(Reason::new)
    }

    /// The span, if all of it is on the disk.
    fn inside(&mut self, span: Span) -> Result<u64, Reason> {
        let id = self.selected.namespace;
        let disk = self.controller()?.device(id).map_err(Reason::new)?;
        let blocks = disk.block_count();
        if span.first >= blocks || span.count > blocks - span.first {
            return Err(Reason::new(format_args!(
                "{} blocks from {} on reach beyond the end: the disk has {blocks}",
                span.count, span.first
            )));
        }
        Ok(u64::from(disk.block_size()))
    }

    fn read(&mut self, span: Span) -> Result<(), Reason> {
        let block_size = self.inside(span)?;
        let Self { storage, selected, out, marks, scratch } = self;
        let mut dump = Dump::starting_at(span.first * block_size);
        stream::blocks(controller(*storage, *selected)?, selected.namespace, span, scratch, &mut |bytes| {
            marks.first_block();
            dump.add(bytes, *out).map_err(Reason::new)
        })?;
        dump.end(*out).map_err(Reason::new)
    }

    fn sha256(&mut self, span: Span) -> Result<(), Reason> {
        self.inside(span)?;
        let Self { storage, selected, out, marks, scratch } = self;
        let mut hash = Sha256::new();
        stream::blocks(controller(*storage, *selected)?, selected.namespace, span, scratch, &mut |bytes| {
            marks.first_block();
            hash.update(bytes);
            Ok(())
        })?;
        for byte in hash.finalize() {
            write!(out, "{byte:02x}").map_err(Reason::new)?;
        }
        writeln!(out, "  {} blocks from {}", span.count, span.first).map_err(Reason::new)
    }

    fn flush(&mut self) -> Result<(), Reason> {
        let began = self.controller()?.clock().now();
        {
            let id = self.selected.namespace;
            self.controller()?.flush(id).map_err(Reason::new)?;
        }
        let took = self.controller()?.clock().now().since(began);
        writeln!(self.out, "flushed in {} us", microseconds(took)).map_err(Reason::new)
    }

    fn random_read(&mut self, count: u64, depth: u64) -> Result<(), Reason> {
        if !self.marks.told {
            // One block beforehand, so that its mark does not fall into the measured part.
            let Self { storage, selected, marks, scratch, .. } = self;
            stream::blocks(
                controller(*storage, *selected)?,
                selected.namespace,
                Span { first: 0, count: 1 },
                scratch,
                &mut |_| {
                    marks.first_block();
                    Ok(())
                },
            )?;
        }
        let report = load::random_reads(
            controller(self.storage, self.selected)?,
            self.selected.namespace,
            (count, depth),
            self.marks.mark,
        )?;
        self.report(report)
    }

    fn soak(&mut self, count: u64) -> Result<(), Reason> {
        let report = load::soak(self.storage, (self.selected.controller, self.selected.namespace), count)?;
        self.report(report)
    }

    fn report(&mut self, report: load::Report) -> Result<(), Reason> {
        let micros = microseconds(report.took).max(1);
        writeln!(
            self.out,
            "{} reads, {} bytes, in {micros} us: {} reads per second",
            report.reads,
            report.bytes,
            report.reads.saturating_mul(1_000_000) / micros
        )
        .map_err(Reason::new)
    }
}

fn controller<S: Storage>(
    storage: &mut S,
    selected: Selected,
) -> Result<&mut Controller<S::Platform, S::Transport>, Reason> {
    let index = selected.controller;
    storage.controller(index).ok_or_else(|| Reason::new(format_args!("there is no controller {index}")))
}

/// The namespace that commands are for at first: number 1, or else the first that there is.
fn disk<P: hal::Platform, T: nvme::Transport<P>>(controller: &Controller<P, T>) -> u32 {
    let first = controller.namespaces().first().map_or(DISK, |namespace| namespace.id);
    if controller.namespace(DISK).is_some() { DISK } else { first }
}

fn name(command: Command) -> &'static str {
    match command {
        Command::Help => "help",
        Command::Info => "info",
        Command::Namespaces => "namespaces",
        Command::Gpt => "gpt",
        Command::Read(_) => "read",
        Command::Sha256(_) => "sha256",
        Command::Flush => "flush",
        Command::Log => "log",
        Command::Shutdown => "shutdown",
        Command::RandomRead { .. } => "bench",
        Command::Soak { .. } => "soak",
    }
}
