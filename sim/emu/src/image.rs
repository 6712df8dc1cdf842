//! The image to run: a Linux-format arm64 image, or a raw one whose entry is named.

use std::fmt;

/// The magic number "ARM\x64" and its offset (Linux Documentation/arch/arm64/booting.rst).
const MAGIC: [u8; 4] = *b"ARM\x64";
const MAGIC_OFFSET: usize = 0x38;
const IMAGE_SIZE_OFFSET: usize = 0x10;
const FLAGS_OFFSET: usize = 0x18;
const HEADER: usize = 0x40;
/// Flag bit 0: the kernel is big-endian.
const FLAG_BIG_ENDIAN: u64 = 1;

/// An image that can be placed in memory.
#[derive(Clone, Debug)]
pub struct Image {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// Bytes that it needs in memory from its start, those behind the file (BSS) included.
    pub memory: u64,
    /// Where to enter it, from its start.
    pub entry: u64,
}

/// Why a file is no image that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// No arm64 header, and no entry was named.
    NoHeader,
    /// The header says that the image is big-endian.
    BigEndian,
    /// The header's image size is smaller than the file.
    Size {
        /// What the header says.
        header: u64,
        /// The file's length.
        file: u64,
    },
    /// The entry lies outside the image or is no multiple of 4.
    Entry(u64),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => {
                write!(f, "no arm64 image: no magic number \"ARM\\x64\" at 0x38 (a raw image needs --entry)")
            }
            Self::BigEndian => write!(f, "the image is big-endian (flags bit 0)"),
            Self::Size { header, file } => {
                write!(f, "the header's image size {header:#x} is smaller than the file, {file:#x} bytes")
            }
            Self::Entry(entry) => write!(f, "the entry {entry:#x} is no instruction of the image"),
        }
    }
}

impl Image {
    /// Reads the header; `entry` is what the caller named, else the image's first instruction.
    ///
    /// # Errors
    /// [`ImageError`] says what is wrong with the file.
    pub fn parse(bytes: Vec<u8>, entry: Option<u64>) -> Result<Self, ImageError> {
        let file = bytes.len() as u64;
        let word =
            |offset: usize| -> Option<u64> { bytes.get(offset..offset + 8)?.try_into().ok().map(u64::from_le_bytes) };
        let header = bytes.len() >= HEADER && bytes.get(MAGIC_OFFSET..).is_some_and(|rest| rest.starts_with(&MAGIC));
        let memory = match (header, word(IMAGE_SIZE_OFFSET), word(FLAGS_OFFSET)) {
            (true, _, Some(flags)) if flags & FLAG_BIG_ENDIAN != 0 => return Err(ImageError::BigEndian),
            // 0 is what kernels before 3.17 say: unknown.
            (true, Some(size), _) if size != 0 && size < file => return Err(ImageError::Size { header: size, file }),
            (true, Some(size), _) => size.max(file),
            _ if entry.is_some() => file,
            _ => return Err(ImageError::NoHeader),
        };
        let entry = entry.unwrap_or(0);
        if !entry.is_multiple_of(4) || entry.checked_add(4).is_none_or(|end| end > file) {
            return Err(ImageError::Entry(entry));
        }
        Ok(Self { bytes, memory, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(size: u64, flags: u64) -> Vec<u8> {
        let mut bytes = vec![0; 0x80];
        bytes[IMAGE_SIZE_OFFSET..][..8].copy_from_slice(&size.to_le_bytes());
        bytes[FLAGS_OFFSET..][..8].copy_from_slice(&flags.to_le_bytes());
        bytes[MAGIC_OFFSET..][..4].copy_from_slice(&MAGIC);
        bytes
    }

    #[test]
    fn an_image_takes_the_memory_that_its_header_names() {
        assert_eq!(Image::parse(image(0x2000, 0xa), None).unwrap().memory, 0x2000);
    }

    #[test]
    fn what_is_no_image_is_refused_with_its_reason() {
        let refused = |bytes: Vec<u8>, entry| Image::parse(bytes, entry).err();
        assert_eq!(refused(vec![], None), Some(ImageError::NoHeader));
        assert_eq!(refused(vec![0; 0x80], None), Some(ImageError::NoHeader));
        assert_eq!(refused(image(0x2000, 1), None), Some(ImageError::BigEndian));
        assert_eq!(refused(image(0x40, 0), None), Some(ImageError::Size { header: 0x40, file: 0x80 }));
        assert_eq!(refused(image(0x2000, 0), Some(0x80)), Some(ImageError::Entry(0x80)));
        assert_eq!(refused(image(0x2000, 0), Some(2)), Some(ImageError::Entry(2)));
    }

    #[test]
    fn a_raw_image_runs_when_its_entry_is_named() {
        assert_eq!(Image::parse(vec![0; 0x1000], Some(0x800)).unwrap().entry, 0x800);
    }
}
