//! The disk as QEMU's arguments.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The sizes of logical blocks that are known by where the partition table stands.
const BLOCK_SIZES: [u32; 4] = [512, 1024, 2048, 4096];
/// Where there is no table.
const DEFAULT: u32 = 4096;
/// The first bytes of a GPT's header, which is the disk's second block.
const SIGNATURE: &[u8; 8] = b"EFI PART";

/// The disk's file, and what QEMU is to do with it.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// A raw image.
    pub(crate) file: PathBuf,
    /// Bytes in a logical block.
    pub(crate) block_size: u32,
    /// Writes reach the file.
    pub(crate) writable: bool,
    /// Rules for QEMU's `blkdebug`, which injects errors between the controller and the file.
    pub(crate) errors: Option<PathBuf>,
}

impl Disk {
    /// Looks at the file. `block_size` is what the partition table says if it is not given.
    pub(crate) fn open(
        file: &Path,
        block_size: Option<u32>,
        writable: bool,
        errors: Option<&Path>,
    ) -> Result<Self, Failure> {
        let wrong = |path: &Path, what: &str| Failure::usage(format!("disk {}: {what}", path.display()));
        let opened = File::open(file).map_err(|error| wrong(file, &error.to_string()))?;
        let metadata = opened.metadata().map_err(|error| wrong(file, &error.to_string()))?;
        if !metadata.is_file() {
            return Err(wrong(file, "not a file"));
        }
        let block_size = block_size.unwrap_or_else(|| told_by_table(&opened).unwrap_or(DEFAULT));
        if metadata.len() == 0 || !metadata.len().is_multiple_of(block_size.into()) {
            return Err(wrong(file, &format!("{} bytes are not whole blocks of {block_size}", metadata.len())));
        }
        if let Some(rules) = errors {
            // The short form of naming both files has no way to write a colon.
            if rules.to_string_lossy().contains(':') {
                return Err(Failure::usage(format!(
                    "--blkdebug {}: a name without a colon is needed",
                    rules.display()
                )));
            }
            File::open(rules).map_err(|error| Failure::usage(format!("--blkdebug {}: {error}", rules.display())))?;
        }
        Ok(Self { file: file.to_path_buf(), block_size, writable, errors: errors.map(Path::to_path_buf) })
    }

    /// The argument of `-drive`, under the name `disk`.
    pub(super) fn drive(&self) -> String {
        let mut name = String::new();
        if let Some(rules) = &self.errors {
            name = format!("blkdebug:{}:", rules.display());
        }
        name += &self.file.display().to_string();
        // Blocks that are deallocated read as zeroes, QEMU's controller says; so let them reach the file.
        let access = if self.writable { "read-only=off,discard=unmap" } else { "read-only=on" };
        format!("if=none,id=disk,format=raw,{access},file={}", escaped(&name))
    }
}

/// Text inside a list that commas part.
pub(super) fn escaped(text: &str) -> String {
    text.replace(',', ",,")
}

/// The block size with which the second block is a GPT's header.
fn told_by_table(disk: &File) -> Option<u32> {
    BLOCK_SIZES.into_iter().find(|size| {
        let mut start = [0; 8];
        disk.read_exact_at(&mut start, u64::from(*size)).is_ok() && &start == SIGNATURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_size_is_where_the_tables_header_stands() {
        let path = std::env::temp_dir().join(format!("anvil-block-size-{}.img", std::process::id()));
        for size in BLOCK_SIZES {
            let mut content = vec![0; 64 << 10];
            content[size as usize..][..8].copy_from_slice(SIGNATURE);
            std::fs::write(&path, &content).unwrap();
            assert_eq!(Disk::open(&path, None, false, None).unwrap().block_size, size);
            assert_eq!(Disk::open(&path, Some(8192), false, None).unwrap().block_size, 8192);
        }
        std::fs::write(&path, vec![0; 64 << 10]).unwrap();
        assert_eq!(Disk::open(&path, None, false, None).unwrap().block_size, DEFAULT);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn commas_in_names_are_doubled_for_qemu() {
        let disk = Disk { file: "a,b".into(), block_size: 512, writable: false, errors: Some("rules".into()) };
        assert_eq!(disk.drive(), "if=none,id=disk,format=raw,read-only=on,file=blkdebug:rules:a,,b");
    }
}
