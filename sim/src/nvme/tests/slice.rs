//! A plain driver from the first register to the last.

use super::super::store::pattern;
use super::*;

#[test]
fn a_plain_driver_identifies_reads_and_stops_without_a_violation() {
    let mut bench = Bench::up();
    assert_eq!(bench.run(Admin, 0, Script::identify(1, 0)).status, 0);
    let identity = bench.get(DATA, 4096);
    assert_eq!(&identity[24..41], b"APPLE SSD AP0512Q");
    assert_eq!((identity[77], identity[512], identity[513], identity[525]), (8, 0x66, 0x44, 1));
    assert_eq!(identity[516..520], 3_u32.to_le_bytes());
    assert_eq!(bench.run(Admin, 0, Script::identify(0, 1)).status, 0);
    let namespace = bench.get(DATA, 4096);
    assert_eq!(namespace[..8], (64_u64 << 20 >> 12).to_le_bytes());
    assert_eq!((namespace[130], namespace[384]), (12, 1));
    assert_eq!(bench.run(Io, 5, Script::read(7, 1, [DATA, 0])).status, 0);
    let mut expected = vec![0; 4096];
    pattern(1, 7, &mut expected);
    assert_eq!(bench.get(DATA, 4096), expected);
    bench.finish();
    bench.assert_clean();
    assert_eq!(bench.block.counters().commands["read"], 1);
}
