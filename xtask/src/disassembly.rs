//! Whether the barriers that shadow doorbells and completion queues hang on are in the image, as instructions.
//!
//! A model checker has shown what the barriers in the source are for; this shows that the compiler kept them in place. The lines
//! of the debug data tell which function an instruction comes from, however much was inlined: so each copy of the places is
//! found, and on every way to its second access a barrier has to stand behind the first one.

mod instruction;
mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::failure::Failure;
use crate::shell::say;
use instruction::{Instruction, Strength};
use order::{Barrier, Code};

type Debug<'data> = Context<EndianSlice<'data, LittleEndian>>;

/// A function by the end of its file's path and its name.
type Function = (&'static str, &'static str);

/// Two accesses that a barrier has to stand between.
struct Pair {
    /// What it is called here.
    name: &'static str,
    /// What the function of the first access is, which is a store if the barrier has to be full, and else a load.
    first: Function,
    /// What the function of the second access is, a load.
    second: Function,
    /// The barrier.
    strength: Strength,
    /// Whether the first access has to be in the same function of the image.
    together: bool,
    /// The functions that each of the places is inlined from or in: every place belongs to one of them, and each has some.
    callers: &'static [Function],
}

const SHADOW: &str = "nvme/src/transport/pcie/shadow.rs";
const COMPLETION: &str = "nvme/src/transport/completion.rs";
const RINGS: &str = "nvme/src/transport/pcie/queue.rs";
const LINEAR: &str = "nvme/src/transport/apple/queue.rs";

const PAIRS: &[Pair] = &[
    Pair {
        name: "shadow doorbells",
        first: (SHADOW, "set_shadow"),
        second: (SHADOW, "event_index"),
        strength: Strength::Full,
        together: true,
        callers: &[(RINGS, "ring"), (RINGS, "tell")],
    },
    Pair {
        name: "phase bit and entry",
        first: (COMPLETION, "next"),
        second: (COMPLETION, "result"),
        strength: Strength::Loads,
        // The phase of a batch's first entry is read by the caller.
        together: false,
        callers: &[(RINGS, "consume"), (LINEAR, "consume")],
    },
];

/// Reads the image's ELF file, and wants every barrier in its place.
pub(crate) fn check(elf: &Path) -> Result<(), Failure> {
    let bytes = fs::read(elf).map_err(|error| broken(&error))?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).map_err(|error| broken(&error))?;
    let dwarf = Dwarf::load(|section| {
        let content = file.section_by_name(section.name()).map_or(Ok(&[][..]), |section| section.data())?;
        Ok::<_, object::Error>(EndianSlice::new(content, LittleEndian))
    });
    let debug = Context::from_dwarf(dwarf.map_err(|error| broken(&error))?).map_err(|error| broken(&error))?;
    let functions = functions(&file)?;
    let mut faults = Vec::new();
    for pair in PAIRS {
        match pair.check(&functions, &debug)? {
            (line, wrong) if wrong.is_empty() => say(&line),
            (_, wrong) => faults.extend(wrong),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::failed(faults.join("; "))) }
}

fn broken(error: &impl std::fmt::Display) -> Failure {
    Failure::failed(format!("the image's ELF file cannot be read: {error}"))
}

/// Every function that has instructions.
fn functions(file: &ElfFile64<'_, Endianness>) -> Result<Vec<Code>, Failure> {
    let mut functions = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() != 0) {
        let Some(index) = symbol.section_index() else { continue };
        let section = file.section_by_index(index).map_err(|error| broken(&error))?;
        let content = section.data_range(symbol.address(), symbol.size()).map_err(|error| broken(&error))?;
        let words = content.unwrap_or_default().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        functions.push(Code::new(symbol.address(), words));
    }
    Ok(functions)
}

impl Pair {
    /// What is found of the pair in the image, in a line, and what is wrong.
    fn check(&self, functions: &[Code], debug: &Debug<'_>) -> Result<(String, Vec<String>), Failure> {
        let (is_first, first_primitive, between): (fn(Instruction) -> bool, _, _) = match self.strength {
            Strength::Full => (Instruction::stores_word, "write_volatile", "store and load"),
            Strength::Loads => (Instruction::loads_word, "read_volatile", "the two loads"),
        };
        let mut guards = Vec::new();
        let mut callers: Vec<&Function> = Vec::new();
        let mut faults = Vec::new();
        for code in functions {
            let firsts = accesses(code, debug, is_first, first_primitive, self.first)?;
            let firsts: BTreeSet<u64> = firsts.iter().map(|(address, _)| *address).collect();
            for (load, frames) in accesses(code, debug, Instruction::loads_word, "read_volatile", self.second)? {
                let caller = self.callers.iter().find(|caller| frames.iter().any(|frame| frame.is(**caller)));
                callers.extend(caller);
                if caller.is_none() {
                    faults.push(format!("the load at {load:#x} is of no known place"));
                }
                match code.guards(load, &firsts, self.strength) {
                    Ok(found) if self.together && !code.follows(&found, &firsts) => {
                        faults.push(format!("no store is before the barrier of the load at {load:#x}"));
                    }
                    Ok(found) => guards.extend(found),
                    Err(origin) => faults.push(format!("no barrier from {origin:#x} to the load at {load:#x}")),
                }
            }
        }
        let mut counts = Vec::new();
        for caller in self.callers {
            let ((file, function), count) = (caller, callers.iter().filter(|found| **found == caller).count());
            let short = file.strip_prefix("nvme/src/transport/").unwrap_or(file);
            counts.push(format!("{count} of `{function}` in {short}"));
            if count == 0 {
                faults.push(format!("no place of `{function}` in {file} is in the image"));
            }
        }
        let line = format!("{}: {} between {between} ({})", self.name, listed(&guards), counts.join(", "));
        Ok((line, faults.into_iter().map(|fault| format!("{}: {fault}", self.name)).collect()))
    }
}

/// The barriers with their addresses; only the name of what stands in their place, by a branch, where a device is not coherent
/// and a `DSB` waits for the caches.
fn listed(guards: &[Barrier]) -> String {
    let (coherent, maintained): (Vec<&Barrier>, Vec<&Barrier>) =
        guards.iter().partition(|barrier| barrier.name.starts_with("dmb"));
    let names = |of: &[&Barrier]| {
        let names: BTreeSet<&str> = of.iter().map(|barrier| barrier.name).collect();
        names.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let places: BTreeSet<u64> = coherent.iter().map(|barrier| barrier.address).collect();
    let places: Vec<String> = places.iter().map(|address| format!("{address:#x}")).collect();
    let instead = if maintained.is_empty() { String::new() } else { format!(" or {}", names(&maintained)) };
    format!("{} at {}{instead}", names(&coherent), places.join(" "))
}

/// A function that an instruction comes from: the innermost, or one that it is inlined in.
struct Frame {
    file: String,
    function: String,
}

impl Frame {
    fn is(&self, (file, function): Function) -> bool {
        self.file.ends_with(file) && self.is_named(function)
    }

    /// The name stands alone, as a function inlined has it, or at the end of a path; arguments and a hash may follow.
    fn is_named(&self, function: &str) -> bool {
        let hash = self.function.rsplit_once("::h").filter(|(_, hash)| u64::from_str_radix(hash, 16).is_ok());
        let path = hash.map_or(&*self.function, |(path, _)| path);
        path.rsplit("::").next() == Some(function)
            || path.strip_prefix(function).is_some_and(|rest| rest.starts_with('<'))
    }
}

/// The accesses of a kind, made by the library's `primitive`, that come from `function`.
fn accesses(
    code: &Code,
    debug: &Debug<'_>,
    is_kind: fn(Instruction) -> bool,
    primitive: &str,
    function: Function,
) -> Result<Vec<(u64, Vec<Frame>)>, Failure> {
    let mut accesses = Vec::new();
    for (address, _) in code.instructions().filter(|(_, instruction)| is_kind(*instruction)) {
        let mut frames = Vec::new();
        let mut found = debug.find_frames(address).skip_all_loads().map_err(|error| broken(&error))?;
        while let Some(frame) = found.next().map_err(|error| broken(&error))? {
            let name = frame.function.as_ref().and_then(|function| function.demangle().ok());
            let file = frame.location.as_ref().and_then(|location| location.file);
            frames.push(Frame {
                file: file.unwrap_or_default().to_owned(),
                function: name.unwrap_or_default().into_owned(),
            });
        }
        if frames.iter().any(|frame| frame.is_named(primitive)) && frames.iter().any(|frame| frame.is(function)) {
            accesses.push((address, frames));
        }
    }
    Ok(accesses)
}
