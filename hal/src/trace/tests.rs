use super::*;
use crate::testing::FakeWindow;

#[test]
fn every_access_is_recorded_in_order_over_all_windows() {
    let recorder = Recorder::new(Ring::<8>::new());
    let nvme = Trace::new(FakeWindow::with(&[(0x1c, 1)]), "nvme", &recorder);
    let mailbox = Trace::new(FakeWindow::default(), "mailbox", &recorder);
    nvme.write_halves(0x28, 0x2_0000_0001);
    mailbox.write64(0x800, 0x20);
    assert_eq!(nvme.read32(0x1c), 1);
    assert_eq!(mailbox.read64(0x800), 0x20);
    let lines: Vec<_> = core::iter::from_fn(|| recorder.sink().take()).map(|event| event.to_string()).collect();
    let expected = [
        "0 W4 nvme+0x00028 0x00000001",
        "1 W4 nvme+0x0002c 0x00000002",
        "2 W8 mailbox+0x00800 0x0000000000000020",
        "3 R4 nvme+0x0001c 0x00000001",
        "4 R8 mailbox+0x00800 0x0000000000000020",
    ];
    assert_eq!(lines, expected);
    assert_eq!((recorder.seen(), recorder.dropped()), (5, 0));
}

#[test]
fn a_full_ring_keeps_the_latest_events_and_counts_the_lost_ones() {
    let recorder = Recorder::new(Ring::<2>::new());
    let window = Trace::new(FakeWindow::default(), "w", &recorder);
    (0..5).for_each(|value| window.write32(0, value));
    assert_eq!((recorder.seen(), recorder.dropped()), (5, 3));
    let kept: Vec<_> = core::iter::from_fn(|| recorder.sink().take()).map(|event| event.sequence).collect();
    assert_eq!(kept, [3, 4]);
}

#[test]
fn events_that_the_sink_refuses_are_counted_as_dropped() {
    struct Full;
    impl Sink for Full {
        fn record(&self, _event: Event) -> u64 {
            1
        }
    }
    let recorder = Recorder::new(Full);
    let window = Trace::new(FakeWindow::with(&[(0, 3)]), "w", &recorder);
    assert_eq!(window.read32(0), 3, "a record that is full does not disturb the access");
    assert_eq!((recorder.seen(), recorder.dropped()), (1, 1));
}
