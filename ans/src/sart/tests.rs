use super::*;
use crate::fake::Window;

const RANGE: Range = Range { address: 0x8_1000_0000, size: 0x8000 };

fn keeps(_: usize, _: u32, written: u32) -> u32 {
    written
}

/// CONFIG words (below 0x40) cannot be cleared.
fn sticks(offset: usize, old: u32, written: u32) -> u32 {
    if offset < 0x40 { old | written } else { written }
}

fn scanned(window: Window, version: Version) -> Sart<Window> {
    let mut sart = Sart::new(window, version);
    sart.scan();
    sart
}

fn sart(version: Version) -> (Window, Sart<Window>) {
    let window = Window::new(&[], keeps);
    (window.clone(), scanned(window, version))
}

#[test]
fn version_3_writes_address_size_and_then_the_flags() {
    let (window, mut sart) = sart(Version::Three);
    sart.add(RANGE).unwrap();
    assert_eq!(window.writes(), [(0x40, 0x81_0000), (0x80, 8), (0x00, 0xff)]);
    sart.remove(RANGE).unwrap();
    assert_eq!(window.writes(), [(0x40, 0), (0x80, 0), (0x00, 0)]);
}

#[test]
fn version_2_writes_address_and_then_flags_with_size() {
    let (window, mut sart) = sart(Version::Two);
    sart.add(RANGE).unwrap();
    assert_eq!(window.writes(), [(0x40, 0x81_0000), (0x00, 0xff00_0008)]);
    sart.remove(RANGE).unwrap();
    assert_eq!(window.writes(), [(0x40, 0), (0x00, 0)]);
}

#[test]
fn entries_of_the_boot_chain_are_never_touched_and_the_fourteenth_window_finds_no_slot() {
    let protected = [(0x00, 0xff00_0001), (0x04, 0x0100_0000), (0x08, 0xff00_0004), (0x40, 0x80_0000)];
    let window = Window::new(&protected, keeps);
    let mut sart = scanned(window.clone(), Version::Two);
    assert_eq!(sart.protected(), 3);
    let page = |number: u64| Range { address: 0x8_2000_0000 + number * 0x4000, size: 0x4000 };
    for number in 0..13 {
        sart.add(page(number)).unwrap();
    }
    assert_eq!(sart.add(page(13)), Err(SartError::NoSlot));
    assert_eq!(sart.open(), 13);
    let first = Range { address: 0x8_0000_0000, size: 0x1000 };
    assert_eq!(sart.remove(first), Err(SartError::NotFound(first)));
    sart.clear().unwrap();
    assert!(window.writes().iter().all(|write| !matches!(write.0, 0x00 | 0x04 | 0x08 | 0x40 | 0x44 | 0x48)));
    for (offset, word) in protected {
        assert_eq!(window.word(offset), word);
    }
    assert!((3..16).all(|index| window.word(4 * index) == 0 && window.word(0x40 + 4 * index) == 0));
}

#[test]
fn only_the_exact_window_is_removed() {
    let (window, mut sart) = sart(Version::Two);
    sart.add(RANGE).unwrap();
    window.writes();
    for wrong in [
        Range { size: 0x4000, ..RANGE },
        Range { size: 0xc000, ..RANGE },
        Range { address: RANGE.address + 0x4000, size: 0x4000 },
    ] {
        assert_eq!(sart.remove(wrong), Err(SartError::NotFound(wrong)));
    }
    assert!(window.writes().is_empty());
    sart.remove(RANGE).unwrap();
    assert_eq!(sart.remove(RANGE), Err(SartError::NotFound(RANGE)));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let misaligned = [(0x8_0000_0800, 0x1000), (0x8_0000_0000, 0x800), (0x8_0000_0000, 0)];
    let too_large_for_2 =
        [(1 << 36, 0x1000), (0xf_ffff_f000, 0x2000), (0, 0x100_0000 << 12), (u64::MAX - 0xfff, 0x1000)];
    let too_large_for_3 = [(1 << 42, 0x1000), (0, 0x4000_0000 << 12)];
    for version in [Version::Two, Version::Three] {
        let (window, mut sart) = sart(version);
        for (address, size) in misaligned {
            let range = Range { address, size };
            assert_eq!(sart.add(range), Err(SartError::Misaligned(range)));
        }
        let too_large: &[(u64, u64)] = if version == Version::Two { &too_large_for_2 } else { &too_large_for_3 };
        for (address, size) in too_large.iter().copied() {
            let range = Range { address, size };
            assert_eq!(sart.add(range), Err(SartError::TooLarge(range)));
        }
        assert!(window.writes().is_empty());
    }
    let (_, mut sart) = sart(Version::Three);
    // Beyond 36 bits, and inside 42.
    sart.add(Range { address: 0x3ff_ffff_c000, size: 0x4000 }).unwrap();
}

#[test]
fn an_overlapping_window_is_reported() {
    let (_, mut sart) = sart(Version::Two);
    sart.add(RANGE).unwrap();
    for address in [RANGE.address - 0x4000, RANGE.address, RANGE.address + 0x4000] {
        let range = Range { address, size: 0x8000 };
        assert_eq!(sart.add(range), Err(SartError::Overlaps { range, open: RANGE }));
    }
    sart.add(Range { address: RANGE.address + RANGE.size, size: 0x1000 }).unwrap();
}

#[test]
fn a_window_that_does_not_close_is_an_error() {
    let window = Window::new(&[], sticks);
    let mut sart = scanned(window, Version::Two);
    sart.add(RANGE).unwrap();
    assert_eq!(sart.remove(RANGE), Err(SartError::StillOpen { index: 0, config: 0xff00_0008 }));
}

#[test]
fn an_entry_that_somebody_filled_after_the_scan_is_passed_over() {
    let (window, mut sart) = sart(Version::Two);
    window.write32(0, 0xff00_0001);
    window.writes();
    sart.add(RANGE).unwrap();
    assert_eq!(window.writes(), [(0x44, 0x81_0000), (0x04, 0xff00_0008)]);
}

#[test]
fn an_unknown_version_is_refused_with_its_number() {
    assert_eq!(Version::try_from(2), Ok(Version::Two));
    assert_eq!(Version::try_from(3), Ok(Version::Three));
    for number in [0, 1, 4, 9] {
        let error = Version::try_from(number).unwrap_err();
        assert!(error.to_string().contains(&number.to_string()), "{error}");
    }
}

#[test]
fn before_the_scan_no_entry_is_taken_for_free() {
    let window = Window::new(&[(0x04, 0xff00_0001)], keeps);
    let mut sart = Sart::new(window.clone(), Version::Two);
    assert_eq!(sart.add(RANGE), Err(SartError::NoSlot));
    assert!(window.writes().is_empty());
    sart.scan();
    sart.add(RANGE).unwrap();
    // A second scan knows its own entries.
    sart.scan();
    assert_eq!(sart.protected(), 1);
    sart.remove(RANGE).unwrap();
}
