//! What firmware leaves in memory: log entries and crash records.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::panic,
    reason = "a surprise ends the test"
)]

use proptest::prelude::*;
use rtkit::CrashReport;
use rtkit::crash::{Content, Fault, MailboxEntry, RecordError};
use rtkit::memory::{Line, Memory};
use rtkit::syslog::SyslogEntry;

/// An entry of the firmware's log whose text is as long as the entry.
fn entry(context: &[u8], text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend(context);
    bytes.resize(0x20, 0);
    bytes.extend(text);
    bytes
}

fn text_of(text: &[u8]) -> Option<String> {
    let bytes = entry(b"ans", text);
    SyslogEntry::read(&bytes[..], 0, text.len()).map(|entry| entry.text.as_str().to_owned())
}

#[test]
fn a_log_line_ends_where_its_text_ends() {
    assert_eq!(text_of(b"abc\0zzz").as_deref(), Some("abc"));
    assert_eq!(text_of(&[b'x'; 200]), Some("x".repeat(200)));
    assert_eq!(text_of(b"abc\n\0\0").as_deref(), Some("abc"));
    assert_eq!(text_of(b"\n\0\0"), None);
    assert_eq!(text_of(b""), None);
}

#[test]
fn a_log_line_is_one_line_of_printable_characters() {
    assert_eq!(text_of(b"a\xffb\nc\td\\\x1b[1m\0").as_deref(), Some("a\\xffb\\nc\\td\\\\\\x1b[1m"));
}

#[test]
fn a_log_line_too_long_to_show_is_cut_and_says_so() {
    let line = text_of(&[0xff; 600]).unwrap();
    assert!(line.len() <= 512 && line.ends_with("\\xff..."));
    assert_eq!(Line::<8>::escape(b"12345678").as_str(), "12345678");
    assert_eq!(Line::<8>::escape(b"123456789").as_str(), "12345...");
    assert_eq!(Line::<8>::escape(b"123\xff\xff").as_str(), "123...");
    assert_eq!(text_of(&[b'x'; 600]).unwrap().len(), 256 + 3);
}

#[test]
fn a_log_entry_that_leaves_its_memory_is_not_read() {
    let bytes = entry(b"ans", b"text");
    assert!(SyslogEntry::read(&bytes[..], 0, 4).is_some());
    assert_eq!(SyslogEntry::read(&bytes[..], 0, 5), None);
    assert_eq!(SyslogEntry::read(&bytes[..], 1, 4), None);
    assert_eq!(SyslogEntry::read(&bytes[..], usize::MAX, 4), None);
}

/// Builds a record section by section.
struct Record(Vec<u8>);

impl Record {
    fn new() -> Self {
        let mut bytes = vec![0; 0x20];
        bytes[..4].copy_from_slice(b"EHLC");
        bytes[4] = 3;
        Self(bytes)
    }

    fn section(mut self, tag: &[u8; 4], payload: &[u8]) -> Self {
        let length = 0x10 + payload.len() as u32;
        self.0.extend(tag.iter().rev());
        self.0.extend([0; 8]);
        self.0.extend(length.to_le_bytes());
        self.0.extend(payload);
        self
    }

    fn end(mut self) -> Vec<u8> {
        let total = self.0.len() as u32 + 0x10;
        self = self.section(b"CLHE", &[]);
        self.0[8..12].copy_from_slice(&total.to_le_bytes());
        self.0.resize(0x4000, 0xee);
        self.0
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The names and contents of a record's sections.
fn read<T>(bytes: &[u8], take: impl Fn(&str, Content<'_>) -> T) -> Vec<T> {
    let memory: &dyn Memory = &Slice(bytes);
    let sections = CrashReport::new(Some(memory)).sections().unwrap();
    sections.map(|section| section.unwrap()).map(|section| take(section.name().as_str(), section.content())).collect()
}

/// A slice behind a sized type, so that it can be a trait object.
struct Slice<'a>(&'a [u8]);

impl Memory for Slice<'_> {
    fn size(&self) -> usize {
        self.0.size()
    }
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
}

fn registers() -> Vec<u8> {
    let mut payload = vec![0; 0x350];
    for (index, register) in payload[8..].chunks_exact_mut(8).enumerate() {
        register.copy_from_slice(&(0x1000 + index as u64).to_le_bytes());
    }
    payload
}

#[test]
fn every_known_section_is_decoded() {
    let mut mailbox = vec![0; 28];
    mailbox[16] = 2;
    mailbox[24] = 9;
    mailbox.extend(words(&[1, 0x0010_4000_0000_0000, 77, 4, 0x0080_0000_0000_0000, 78]));
    // A rest that is no whole entry.
    mailbox.extend([1; 23]);
    let bytes = Record::new()
        .section(b"Cstr", b"\x07\0\0\0assert failed\n\0rest")
        .section(b"Cver", b"0123456789abcdefAppleANS-1161\0")
        .section(b"Ctim", &words(&[0x1234_5678_9abc]))
        .section(b"Cmbx", &mailbox)
        .section(b"Crg8", &registers())
        .section(b"Ccst", &words(&[5, 0xffff_fe00_0000_1000, 0xffff_fe00_0000_2000]))
        .section(b"CasC", &words(&[1, 2, 3, 4, 5, 6]))
        .section(b"Crtk", &[1; 8])
        .section(b"Ccdp", &[2; 12])
        .section(b"Cnew", &[3; 4])
        .end();
    let names = read(&bytes, |name, content| {
        match content {
            Content::Text { id, text } => assert_eq!((name, id, text.as_str()), ("Cstr", 7, "assert failed")),
            Content::Version { identity, text } => {
                assert_eq!((name, text.as_str()), ("Cver", "AppleANS-1161"));
                assert_eq!(identity.map(u64::to_le_bytes), [*b"01234567", *b"89abcdef"]);
            }
            Content::Time(time) => assert_eq!((name, time), ("Ctim", 0x1234_5678_9abc)),
            Content::Mailbox(history) => {
                assert_eq!((name, history.kind, history.index), ("Cmbx", 2, 9));
                let entries: Vec<_> = history.entries().collect();
                let entry = |words, time| MailboxEntry { words, time };
                assert_eq!(entries, [entry([1, 0x0010_4000_0000_0000], 77), entry([4, 0x0080_0000_0000_0000], 78)]);
            }
            Content::Registers(registers) => {
                assert_eq!(name, "Crg8");
                assert_eq!((registers.general(0), registers.general(30)), (Some(0x1000), Some(0x101e)));
                assert_eq!(registers.general(31), None);
                assert_eq!((registers.sp(), registers.psr()), (0x101f, 0x1021));
                assert_eq!(registers.fault(), Fault { pc: 0x1020, far: 0x1065, esr: 0x1067 });
            }
            Content::CallStack(stack) => {
                assert_eq!((name, stack.task), ("Ccst", 5));
                let addresses: Vec<_> = stack.addresses().collect();
                assert_eq!(addresses, [0xffff_fe00_0000_1000, 0xffff_fe00_0000_2000]);
            }
            Content::ErrorRegisters(registers) => assert_eq!((name, registers), ("CasC", [1, 2, 3, 4, 5, 6])),
            Content::Tasks(payload) => assert_eq!((name, payload.size()), ("Crtk", 8)),
            Content::CoreDump(payload) => assert_eq!((name, payload.size()), ("Ccdp", 12)),
            Content::Unknown => assert_eq!(name, "Cnew"),
            Content::TooShort => panic!("{name} is long enough"),
        }
        name.to_owned()
    });
    assert_eq!(names, ["Cstr", "Cver", "Ctim", "Cmbx", "Crg8", "Ccst", "CasC", "Crtk", "Ccdp", "Cnew"]);
}

#[test]
fn a_record_in_short_has_its_first_message_and_where_it_faulted() {
    let bytes = Record::new()
        .section(b"Crg8", &registers())
        .section(b"Cstr", b"\x01\0\0\0first")
        .section(b"Cstr", b"\x02\0\0\0second")
        .end();
    let crash = CrashReport::new(Some(&Slice(&bytes))).summary();
    assert_eq!(crash.to_string(), "first (pc 0x1020, far 0x1065, esr 0x1067)");
}

#[test]
fn sections_too_short_for_their_kind_are_listed_as_such() {
    let kinds: [(&[u8; 4], usize); 7] =
        [(b"Cstr", 3), (b"Cver", 15), (b"Ctim", 7), (b"Cmbx", 27), (b"Crg8", 0x34f), (b"Ccst", 3), (b"CasC", 47)];
    for (tag, size) in kinds {
        let bytes = Record::new().section(tag, &vec![0; size]).end();
        assert_eq!(read(&bytes, |_, content| matches!(content, Content::TooShort)), [true]);
    }
}

#[test]
fn a_record_with_impossible_lengths_is_refused_with_the_length() {
    let header = |bytes: &[u8]| CrashReport::new(Some(&Slice(bytes))).header().map(|header| header.total);
    let mut bytes = Record::new().section(b"Ctim", &[0; 8]).end();
    assert_eq!(header(&bytes), Ok(0x48));
    for claimed in [0, 0x1f, 0x4001, u32::MAX] {
        bytes[8..12].copy_from_slice(&claimed.to_le_bytes());
        assert_eq!(header(&bytes), Err(RecordError::Size { claimed, available: 0x4000 }));
    }
    bytes[0] = 0;
    assert_eq!(header(&bytes), Err(RecordError::NoHeader { found: 0x434c_4800 }));
    assert_eq!(header(&[]), Err(RecordError::NoHeader { found: 0 }));
    assert_eq!(CrashReport::new(None).header(), Err(RecordError::NoMemory));
}

#[test]
fn the_walk_over_the_sections_ends_at_a_broken_one() {
    for claimed in [0, 0xf, 0x29, u32::MAX] {
        let mut bytes = Record::new().section(b"Ctim", &[0; 8]).end();
        bytes[0x2c..0x30].copy_from_slice(&claimed.to_le_bytes());
        let memory = Slice(&bytes);
        let sections = CrashReport::new(Some(&memory)).sections().unwrap();
        let errors: Vec<_> = sections.map(|section| section.map(|section| section.tag)).collect();
        assert_eq!(errors, [Err(RecordError::Section { offset: 0x20, claimed })]);
    }
}

proptest! {
    #[test]
    fn no_record_makes_the_decoder_panic_or_run_on(
        sections in prop::collection::vec((0..11usize, any::<u32>(), prop::collection::vec(any::<u8>(), 0..64)), 0..20),
        total in any::<u32>(),
    ) {
        const TAGS: [&[u8; 4]; 11] = [
            b"Cstr", b"Cver", b"Ctim", b"Cmbx", b"Crg8", b"Ccst", b"CasC", b"Crtk", b"Ccdp", b"CLHE", b"????",
        ];
        let mut record = Record::new();
        for (tag, length, payload) in sections {
            let start = record.0.len();
            record = record.section(TAGS[tag], &payload);
            if length % 3 == 0 {
                record.0[start + 12..start + 16].copy_from_slice(&(length % 0x200).to_le_bytes());
            }
        }
        let mut bytes = record.end();
        if total % 2 == 0 {
            bytes[8..12].copy_from_slice(&(total % 0x5000).to_le_bytes());
        }
        let memory = Slice(&bytes);
        let report = CrashReport::new(Some(&memory));
        report.log();
        prop_assert!(report.summary().to_string().len() < 512);
        if let Ok(sections) = report.sections() {
            prop_assert!(sections.count() <= 0x4000 / 0x10);
        }
    }

    #[test]
    fn a_line_is_always_one_line_of_printable_characters_within_its_bound(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let line = Line::<64>::escape(&bytes);
        prop_assert!(line.as_str().len() <= 64);
        prop_assert!(line.as_str().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }
}
