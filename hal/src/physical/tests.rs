use proptest::prelude::*;

use super::{Coherency, PhysicalPool, PhysicalWindow};
use crate::{DEVICE_PAGE, DmaError, DmaPool, DmaRegion, Mmio};

/// Page-aligned memory for one test, kept for the whole run as the pool asks for.
fn memory(pages: usize) -> usize {
    let layout = std::alloc::Layout::from_size_align(pages * DEVICE_PAGE, DEVICE_PAGE).expect("a small size");
    // SAFETY: the size is not zero.
    let start = unsafe { std::alloc::alloc(layout) };
    assert!(!start.is_null());
    // Not zero: what a region reads as zero was zeroed by the pool.
    // SAFETY: the memory was just allocated with this size.
    unsafe { start.write_bytes(0xa5, pages * DEVICE_PAGE) };
    start.expose_provenance()
}

fn pool(pages: usize, coherency: Coherency) -> &'static PhysicalPool<2> {
    // SAFETY: fresh memory that is never freed and has no other user.
    Box::leak(Box::new(unsafe { PhysicalPool::new(memory(pages), pages * DEVICE_PAGE, coherency) }))
}

#[test]
fn regions_are_zeroed_also_when_their_pages_were_used_before() {
    let pool = pool(4, Coherency::Coherent);
    let region = DmaRegion::new(&pool, 8000, 1).expect("enough memory");
    let mut bytes = [1; 8000];
    region.read_bytes(0, &mut bytes);
    assert!(bytes.iter().all(|&byte| byte == 0));
    region.write_bytes(0, &[7; 8000]);
    let address = region.address();
    drop(region);
    let again = DmaRegion::new(&pool, 8000, 1).expect("enough memory");
    assert_eq!(again.address(), address);
    again.read_bytes(0, &mut bytes);
    assert!(bytes.iter().all(|&byte| byte == 0));
}

#[test]
fn values_go_through_memory_at_the_address_that_a_device_would_use() {
    let pool = pool(2, Coherency::Coherent);
    let region = DmaRegion::new(&pool, 4096, 4096).expect("enough memory");
    region.write(8, &0x1122_3344_5566_7788u64);
    region.write(16, &[0x1234_5678u32; 16]);
    pool.publish();
    pool.observe();
    let device = usize::try_from(region.address()).expect("a host address") + 8;
    // SAFETY: eight bytes inside the region.
    let seen = unsafe { core::ptr::with_exposed_provenance::<u64>(device).read_volatile() };
    assert_eq!(seen, 0x1122_3344_5566_7788);
    assert_eq!(region.read::<[u32; 16]>(16), [0x1234_5678; 16]);
    assert_eq!(region.read_word(8), 0x5566_7788u32.to_le());
    assert_eq!(region.read_word(9), 0, "a word is read in one access or not at all");
}

#[test]
fn what_is_outside_the_pool_is_never_touched() {
    let pool = pool(2, Coherency::Coherent);
    let end = (pool.base() + pool.size()) as u64;
    for address in [0, pool.base() as u64 - 1, end - 7, end, u64::MAX, u64::MAX - 7] {
        let mut bytes = [9; 8];
        pool.write(address, &[1; 8]);
        pool.read(address, &mut bytes);
        assert_eq!(bytes, [0; 8], "at {address:#x}");
    }
    assert_eq!(pool.read_word(end - 3), 0);
    pool.release(end, 4096);
    pool.quarantine(u64::MAX, usize::MAX);
    assert_eq!(pool.usage(), (0, 0));
}

#[test]
fn a_pool_gives_no_more_than_it_has_and_no_more_than_its_map_holds() {
    let small = pool(3, Coherency::Maintained);
    let all = DmaRegion::new(&small, 3 * 4096, 1).expect("all of it");
    assert_eq!(DmaRegion::new(&small, 1, 1).map(|_| ()), Err(DmaError::Exhausted { size: 1 }));
    assert_eq!(DmaRegion::new(&small, usize::MAX, 1).map(|_| ()), Err(DmaError::Exhausted { size: usize::MAX }));
    drop(all);
    assert_eq!(small.usage(), (0, 0));
    assert_eq!(pool(130, Coherency::Coherent).size(), 128 * 4096, "two words of 64 pages");
}

proptest! {
    // An interpreter of the language's memory rules takes seconds for each case.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]

    #[test]
    fn copies_of_any_size_and_alignment_are_exact(
        from in 0usize..64, to in 0usize..64, size in 0usize..700, seed in any::<u8>(), maintained in any::<bool>(),
    ) {
        thread_local!(static POOLS: [&'static PhysicalPool<2>; 2] =
            [pool(1, Coherency::Coherent), pool(1, Coherency::Maintained)]);
        let pool = POOLS.with(|pools| pools[usize::from(maintained)]);
        let region = DmaRegion::new(&pool, 4096, 4096).expect("one page");
        let source: Vec<u8> = (0..from + size).map(|index| index.to_le_bytes()[0].wrapping_mul(31) ^ seed).collect();
        region.write_bytes(to, &source[from..]);
        let mut page = vec![0xff; 4096];
        region.read_bytes(0, &mut page);
        prop_assert!(page[..to].iter().chain(&page[to + size..]).all(|&byte| byte == 0));
        prop_assert_eq!(&page[to..to + size], &source[from..]);
        let mut back = vec![0xff; from + size];
        region.read_bytes(to, &mut back[from..]);
        prop_assert!(back[..from].iter().all(|&byte| byte == 0xff));
        prop_assert_eq!(&back[from..], &source[from..]);
    }
}

#[test]
fn a_window_reaches_its_own_registers() {
    // SAFETY: fresh memory that is never freed and has no other user.
    let window = unsafe { PhysicalWindow::new(memory(1), DEVICE_PAGE) };
    window.write64(0xff8, 0x1_0000_0002);
    assert_eq!((window.read32(0xff8), window.read32(0xffc), window.read64(0xff8)), (2, 1, 0x1_0000_0002));
    window.write32(0xffc, 7);
    assert_eq!(window.read_halves(0xff8), 0x7_0000_0002);
}

/// A build with debug assertions stops at such an access; one without reads an empty bus.
#[test]
fn a_window_reaches_nothing_else() {
    // SAFETY: fresh memory that is never freed and has no other user; the window is its first half.
    let window = unsafe { PhysicalWindow::new(memory(1), DEVICE_PAGE / 2) };
    for offset in [0x7fd, 0x800, usize::MAX - 3, 2] {
        let read = std::panic::catch_unwind(|| window.read32(offset));
        let wide = std::panic::catch_unwind(|| window.read64(offset));
        let written = std::panic::catch_unwind(|| window.write32(offset, 0));
        if cfg!(debug_assertions) {
            assert!(read.is_err() && wide.is_err() && written.is_err(), "at {offset:#x}");
        } else {
            assert_eq!((read.ok(), wide.ok(), written.ok()), (Some(u32::MAX), Some(u64::MAX), Some(())));
        }
    }
}
