//! Builds the image: the ELF file with its debug data, and the flat file that a boot loader loads.

use std::fs;
use std::path::PathBuf;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, elf};

use crate::failure::Failure;
use crate::setup;
use crate::shell::{self, say};

/// The end that the image's log macros have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Log {
    /// Plain lines on the console.
    Text,
    /// Compact frames between the console's lines, decoded here.
    Defmt,
}

/// A built image.
pub(crate) struct Image {
    /// With symbols and log strings.
    pub(crate) elf: PathBuf,
    /// What is loaded: the bytes from the Linux arm64 header on.
    pub(crate) flat: PathBuf,
    /// The flat file's size in bytes.
    pub(crate) size: usize,
}

/// Builds the image for `log`, if it is not up to date.
pub(crate) fn build(log: Log) -> Result<Image, Failure> {
    setup::target()?;
    let folder = shell::target().join("image-".to_owned() + log.name());
    let mut command = shell::cargo("build");
    command.args(["--package", "boot", "--profile", "image", "--target", setup::TARGET, "--target-dir"]).arg(&folder);
    if log == Log::Defmt {
        command.args(["--no-default-features", "--features", "defmt"]);
    }
    // Panic messages name source files: not with the paths of the machine that built it, so that two machines build one image.
    let renamed = [(shell::top(), "anvil"), (shell::cargo_home(), "cargo"), (shell::sysroot()?, "rust")]
        .map(|(path, name)| format!("{:?}", format!("--remap-path-prefix={}={name}", path.display())));
    command.arg("--config").arg(format!("target.{}.rustflags=[{}]", setup::TARGET, renamed.join(", ")));
    shell::must(&mut command)?;
    let elf = folder.join(setup::TARGET).join("image").join("anvil");
    let flat = shell::target().join(log.file());
    let bytes = fs::read(&elf).map_err(|error| Failure::failed(format!("{}: {error}", elf.display())))?;
    let content = flatten(&bytes)?;
    let size = content.len();
    // An unchanged file keeps its time, and a second run at the same moment never sees half of one.
    if fs::read(&flat).map_or(true, |old| old != content) {
        let half = flat.with_extension(format!("bin.{}", std::process::id()));
        fs::write(&half, &content)
            .and_then(|()| fs::rename(&half, &flat))
            .map_err(|error| Failure::failed(format!("{}: {error}", flat.display())))?;
        say(&format!("image: {} bytes, {}", size, flat.display()));
    }
    Ok(Image { elf, flat, size })
}

impl Log {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Defmt => "defmt",
        }
    }

    /// The flat image's name in the target directory.
    fn file(self) -> &'static str {
        match self {
            Self::Text => "anvil.bin",
            Self::Defmt => "anvil-defmt.bin",
        }
    }
}

/// The loaded segments at their addresses, from the first loaded byte to the last one that is in the file.
fn flatten(elf: &[u8]) -> Result<Vec<u8>, Failure> {
    let broken = |what: &str| Failure::failed(format!("the image's ELF file is broken: {what}"));
    let file = ElfFile64::<Endianness>::parse(elf).map_err(|error| broken(&error.to_string()))?;
    let endian = file.endian();
    let segments = file.elf_header().program_headers(endian, elf).map_err(|error| broken(&error.to_string()))?;
    let loaded: Vec<_> = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD && segment.p_filesz(endian) != 0)
        .collect();
    let start = loaded.iter().map(|segment| segment.p_vaddr(endian)).min().ok_or_else(|| broken("nothing to load"))?;
    let mut flat = Vec::new();
    for segment in loaded {
        let content = segment.data(endian, elf).map_err(|()| broken("a segment lies outside the file"))?;
        let offset =
            usize::try_from(segment.p_vaddr(endian) - start).map_err(|_| broken("a segment is out of reach"))?;
        let end = offset + content.len();
        if end > 64 << 20 {
            return Err(broken("the segments lie more than 64 MiB apart"));
        }
        if flat.len() < end {
            flat.resize(end, 0);
        }
        flat.get_mut(offset..end).ok_or_else(|| broken("a segment is out of reach"))?.copy_from_slice(content);
    }
    Ok(flat)
}
