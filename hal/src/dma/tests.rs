use std::cell::RefCell;
use std::rc::Rc;

use super::pages::PageMap;
use super::*;

const PAGE: usize = DEVICE_PAGE;

/// A pool of four pages that remembers what became of them.
#[derive(Clone)]
struct Toy {
    state: Rc<RefCell<State>>,
}

struct State {
    pages: PageMap<1>,
    bytes: Vec<u8>,
    calls: Vec<String>,
}

/// Not zero, so that device addresses and offsets are not the same by chance.
const BASE: u64 = 0x8_0000_0000;

impl Toy {
    fn new() -> Self {
        let state = State { pages: PageMap::new(4), bytes: vec![0; 4 * PAGE], calls: vec![] };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    fn used(&self) -> (usize, usize) {
        let state = self.state.borrow();
        (state.pages.used(), state.pages.quarantined())
    }

    fn calls(&self) -> Vec<String> {
        core::mem::take(&mut self.state.borrow_mut().calls)
    }
}

fn offset(address: u64) -> usize {
    usize::try_from(address - BASE).expect("a small offset")
}

impl DmaPool for Toy {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        self.state.borrow_mut().pages.take(BASE, size, alignment).map(|offset| BASE + offset as u64)
    }
    fn release(&self, address: u64, size: usize) {
        self.state.borrow_mut().pages.give(offset(address), size);
    }
    fn quarantine(&self, address: u64, size: usize) {
        self.state.borrow_mut().pages.quarantine(offset(address), size);
    }
    fn reclaim(&self) {
        self.state.borrow_mut().pages.reclaim();
    }
    fn read(&self, address: u64, bytes: &mut [u8]) {
        let mut state = self.state.borrow_mut();
        bytes.copy_from_slice(&state.bytes[offset(address)..][..bytes.len()]);
        state.calls.push(format!("read {} at {}", bytes.len(), offset(address)));
    }
    fn write(&self, address: u64, bytes: &[u8]) {
        let mut state = self.state.borrow_mut();
        state.bytes[offset(address)..][..bytes.len()].copy_from_slice(bytes);
        state.calls.push(format!("write {} at {}", bytes.len(), offset(address)));
    }
    fn read_word(&self, address: u64) -> u32 {
        self.state.borrow_mut().calls.push(format!("word at {}", offset(address)));
        u32::from_ne_bytes(self.state.borrow().bytes[offset(address)..][..4].try_into().expect("four bytes"))
    }
    fn publish(&self) {}
    fn observe(&self) {}
}

#[test]
fn a_dropped_region_gives_its_pages_back() {
    let pool = Toy::new();
    let region = DmaRegion::new(&pool, PAGE + 1, 1).expect("enough memory");
    assert_eq!((region.address(), region.size(), pool.used()), (BASE, PAGE + 1, (2, 0)));
    drop(region);
    assert_eq!(pool.used(), (0, 0));
}

#[test]
fn a_quarantined_region_comes_back_only_by_reclaim() {
    let pool = Toy::new();
    DmaRegion::new(&pool, 2 * PAGE, 1).expect("enough memory").quarantine();
    assert_eq!(pool.used(), (2, 2));
    let next = DmaRegion::new(&pool, PAGE, 1).expect("enough memory");
    assert_eq!(next.address(), BASE + 2 * PAGE as u64);
    assert!(DmaRegion::new(&pool, 2 * PAGE, 1).is_err());
    pool.reclaim();
    assert_eq!(pool.used(), (1, 0), "what is owned stays owned");
    assert!(DmaRegion::new(&pool, 2 * PAGE, 1).is_ok());
}

#[test]
fn values_and_bytes_are_one_access_of_the_pool_each() {
    let pool = Toy::new();
    let _first = DmaRegion::new(&pool, PAGE, 1).expect("enough memory");
    let region = DmaRegion::new(&pool, PAGE, 1).expect("enough memory");
    region.write(64, &[0x1234_5678u32; 16]);
    assert_eq!(region.read::<[u32; 4]>(112), [0x1234_5678; 4]);
    assert_eq!(region.read_word(124), 0x1234_5678);
    let expected = [("write 64 at", 64), ("read 16 at", 112), ("word at", 124)];
    assert_eq!(pool.calls(), expected.map(|(what, at)| format!("{what} {}", PAGE + at)));
}

#[test]
fn nothing_beyond_a_regions_end_is_touched() {
    let pool = Toy::new();
    let region = DmaRegion::new(&pool, 100, 1).expect("enough memory");
    region.write_bytes(96, &[7; 8]);
    let mut bytes = [9; 8];
    region.read_bytes(96, &mut bytes);
    assert_eq!(bytes, [7, 7, 7, 7, 0, 0, 0, 0]);
    assert_eq!(region.read_word(96), 0x0707_0707);
    assert_eq!(pool.calls(), ["write 4 at 96", "read 4 at 96", "word at 96"]);
    for offset in [100, 101, usize::MAX - 3, usize::MAX] {
        region.write_bytes(offset, &[1; 8]);
        region.read_bytes(offset, &mut bytes);
        assert_eq!((bytes, region.read_word(offset), region.read::<u64>(offset)), ([0; 8], 0, 0));
    }
    region.write_bytes(0, &[]);
    assert_eq!(region.read_word(97), 0);
    assert_eq!(pool.calls(), <[String; 0]>::default());
}

#[test]
fn alignment_counts_from_the_devices_view_of_the_base() {
    let mut map = PageMap::<1>::new(64);
    assert_eq!(map.take(PAGE as u64, PAGE, 4 * PAGE), Ok(3 * PAGE));
    assert_eq!(map.take(PAGE as u64, 2 * PAGE, 1), Ok(0));
    assert_eq!(map.take(PAGE as u64, 2 * PAGE, 2 * PAGE), Ok(5 * PAGE), "page 1 is taken, and so is page 3");
}

#[test]
fn a_run_has_to_be_free_as_a_whole_and_may_cross_words() {
    let mut map = PageMap::<2>::new(100);
    assert_eq!(map.take(0, 60 * PAGE, 1), Ok(0));
    assert_eq!(map.take(0, 10 * PAGE, 1), Ok(60 * PAGE));
    map.give(58 * PAGE, 2 * PAGE);
    assert_eq!(map.take(0, 3 * PAGE, 1), Ok(70 * PAGE));
    assert_eq!(map.take(0, 2 * PAGE, 1), Ok(58 * PAGE));
    assert_eq!(map.take(0, 28 * PAGE, 1), Err(DmaError::Exhausted { size: 28 * PAGE }));
    assert_eq!(map.take(0, 27 * PAGE, 1), Ok(73 * PAGE));
    assert_eq!((map.used(), map.size()), (100, 100 * PAGE));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut map = PageMap::<1>::new(1000);
    assert_eq!(map.size(), 64 * PAGE, "no more than the map holds");
    for (size, alignment) in [(0, 1), (1, 0), (1, 3), (0, 0)] {
        assert_eq!(map.take(0, size, alignment), Err(DmaError::Invalid { size, alignment }));
    }
    assert_eq!(map.take(0, usize::MAX, 1), Err(DmaError::Exhausted { size: usize::MAX }));
    map.give(usize::MAX, usize::MAX);
    map.quarantine(65 * PAGE, PAGE);
    assert_eq!((map.used(), map.quarantined()), (0, 0));
}

#[test]
fn giving_back_what_is_quarantined_frees_nothing() {
    let mut map = PageMap::<1>::new(4);
    assert_eq!(map.take(0, 2 * PAGE, 1), Ok(0));
    map.quarantine(0, PAGE);
    map.give(0, 2 * PAGE);
    assert_eq!((map.used(), map.quarantined()), (1, 1));
    assert_eq!(map.take(0, PAGE, 1), Ok(PAGE));
    map.reclaim();
    assert_eq!(map.take(0, PAGE, 1), Ok(0));
}
