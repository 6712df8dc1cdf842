//! Identify, features, logs, abort and events.

use sim::pcie::{ControllerConfig, Fault, NamespaceConfig, Optional, WriteCache};

use crate::host::{Host, Script, word};

fn config() -> ControllerConfig {
    ControllerConfig::new()
}

fn namespaces(list: &[(u32, u32)]) -> Vec<NamespaceConfig> {
    list.iter().map(|(id, block_size)| NamespaceConfig::new(*id, *block_size, 4 << 20)).collect()
}

#[test]
fn identify_controller_has_its_fields_where_the_specification_has_them() {
    let config = ControllerConfig {
        serial: "S1".into(),
        model: "A disk".into(),
        firmware: "9".into(),
        mdts: 5,
        namespaces: namespaces(&[(1, 512), (3, 4096)]),
        ..config()
    };
    let mut host = Host::enabled(config);
    let page = host.page(|page| Script::identify(1, 0, page), 4096);
    assert_eq!(&page[4..24], b"S1                  ");
    assert_eq!(&page[24..64], format!("{:40}", "A disk").as_bytes());
    assert_eq!(&page[64..72], b"9       ");
    assert_eq!((page[77], word(&page, 80), word(&page, 516)), (5, 0x0001_0400, 3));
    assert_eq!((page[256], page[257], page[258], page[259]), (0, 1, 3, 3));
    assert_eq!((page[261], page[262], page[263]), (6, 15, 0));
    assert_eq!((page[512], page[513], page[520], page[521], page[525]), (0x66, 0x44, 0x9d, 0, 7));
    host.assert_clean();
}

#[test]
fn identify_namespace_tells_sizes_and_inactive_ones_are_all_zero() {
    let mut host = Host::enabled(ControllerConfig { namespaces: namespaces(&[(1, 512), (3, 65536)]), ..config() });
    let one = host.page(|page| Script::identify(0, 1, page), 4096);
    assert_eq!((word(&one, 0), word(&one, 8), one[130], one[33], one[99]), (8192, 8192, 9, 9, 0));
    let three = host.page(|page| Script::identify(0, 3, page), 4096);
    assert_eq!((word(&three, 0), three[130]), (64, 16));
    assert_eq!(host.page(|page| Script::identify(0, 2, page), 4096), [0; 4096]);
    let data = host.data;
    for namespace in [0, 4, 0xffff_ffff] {
        assert_eq!(host.admin(Script::identify(0, namespace, data)).status, 0x0b);
    }
    host.assert_clean();
}

#[test]
fn the_list_of_active_namespaces_begins_behind_the_one_named() {
    let mut host =
        Host::enabled(ControllerConfig { namespaces: namespaces(&[(1, 512), (3, 512), (9, 512)]), ..config() });
    let mut list = |from| {
        let page = host.page(|page| Script::identify(2, from, page), 4096);
        [word(&page, 0), word(&page, 4), word(&page, 8), word(&page, 12)]
    };
    assert_eq!((list(0), list(1), list(9)), ([1, 3, 9, 0], [3, 9, 0, 0], [0; 4]));
    let data = host.data;
    assert_eq!(host.admin(Script::identify(2, 0xffff_ffff, data)).status, 0x0b);
    host.assert_clean();
}

#[test]
fn old_controllers_lack_what_came_later() {
    let answers = |config: ControllerConfig| {
        let mut host = Host::enabled(config);
        let data = host.data;
        [0, 1, 2, 3, 0x1c].map(|cns| host.admin(Script::identify(cns, 1, data)).status)
    };
    assert_eq!(answers(config()), [0, 0, 0, 0, 2]);
    assert_eq!(answers(ControllerConfig { active_list: false, ..config() }), [0, 0, 2, 0, 2]);
    assert_eq!(answers(ControllerConfig { version: 0x0001_0200, ..config() }), [0, 0, 0, 2, 2]);
    assert_eq!(answers(ControllerConfig { version: 0x0001_0000, ..config() }), [0, 0, 2, 2, 2]);
}

#[test]
fn a_zoned_namespace_is_listed_and_described_but_takes_no_command() {
    let mut host = Host::up(ControllerConfig {
        namespaces: vec![
            NamespaceConfig::new(1, 512, 1 << 20),
            NamespaceConfig { zoned: true, ..NamespaceConfig::new(2, 4096, 1 << 20) },
        ],
        ..config()
    });
    let list = host.page(|page| Script::identify(2, 0, page), 4096);
    assert_eq!((word(&list, 0), word(&list, 4)), (1, 2));
    let sets = [1, 2].map(|namespace| {
        let page = host.page(|page| Script::identify(3, namespace, page), 4096);
        assert_eq!((page[0], page[1], page[12], page[13], page[17]), (1, 8, 4, 1, 0));
        page[16]
    });
    assert_eq!(sets, [0, 2]);
    let data = host.data;
    assert_eq!(host.io(Script { namespace: 2, ..Script::read(0, 1, [data, 0]) }).status, 0x01);
    host.assert_clean();
}

#[test]
fn features_have_current_default_and_saved_values_and_capabilities() {
    let mut host = Host::enabled(ControllerConfig { saveable: true, ..config() });
    for feature in [1, 4, 5, 8, 9, 10, 11] {
        assert_eq!(host.admin(Script::admin(9, feature, 1)).status, 0);
        let values = [0, 1, 2, 3].map(|select| host.admin(Script::admin(10, select << 8 | feature, 0)).result);
        let default = if feature == 4 { 358 } else { 0 };
        assert_eq!(values, [1, default, default, 5], "{feature}");
    }
    assert_eq!(host.admin(Script::admin(9, 1 << 31 | 6, 0)).status, 0);
    assert_eq!(host.admin(Script::admin(9, 6, 1)).status, 0);
    assert_eq!([0, 1, 2].map(|select| host.admin(Script::admin(10, select << 8 | 6, 0)).result), [1, 1, 0]);
    host.reset();
    host.enable(0);
    host.wait_status(1, 1);
    assert_eq!(host.admin(Script::admin(10, 6, 0)).result, 0, "a reset brings the saved value back");
    assert_eq!(host.admin(Script::admin(10, 1, 0)).result, 0, "and the default of others");
    assert_eq!(host.admin(Script::admin(9, 1 << 31 | 7, 0)).status, 0x10d);
    assert_eq!(host.admin(Script::admin(10, 0xc, 0)).status, 0x02);
    assert_eq!(host.admin(Script::admin(9, 2, 1)).status, 0x02);
    assert_eq!(host.admin(Script::admin(10, 4 << 8 | 6, 0)).status, 0x02);
    host.assert_clean();
}

#[test]
fn features_that_are_not_saveable_or_not_there_fail() {
    let mut host = Host::enabled(config());
    assert_eq!(host.admin(Script::admin(9, 1 << 31 | 6, 0)).status, 0x10d);
    assert_eq!(host.admin(Script::admin(10, 3 << 8 | 6, 0)).result, 4);
    let write_cache = WriteCache { present: false, ..WriteCache::default() };
    let optional = Optional { save_select: false, ..Optional::default() };
    let mut host = Host::up(ControllerConfig { write_cache, optional, ..config() });
    assert_eq!(host.admin(Script::admin(10, 6, 0)).status, 0x02);
    assert_eq!(host.admin(Script::admin(9, 6, 1)).status, 0x02);
    assert_eq!(host.admin(Script::admin(10, 1 << 8 | 1, 0)).status, 0x02);
    assert_eq!(host.io(Script::flush()).status, 0, "a flush without a cache succeeds");
    host.assert_clean();
}

#[test]
fn the_health_log_counts_what_was_done() {
    let mut host = Host::up(config());
    let data = host.data;
    for _ in 0..10 {
        host.put(data + 0x8_0000, &(1..16_u64).flat_map(|page| (data + page * 4096).to_le_bytes()).collect::<Vec<_>>());
        assert_eq!(host.io(Script::write(0, 128, [data, data + 0x8_0000])).status, 0);
    }
    host.board.add_fault(Fault::ReadError(5));
    assert_eq!(host.io(Script::read(5, 1, [data, 0])).half_word, 0x502);
    let log = host.page(|page| Script::log(2, 512, page), 512);
    assert_eq!((log[0], word(&log, 1) & 0xffff, log[3]), (0, 310, 100));
    assert_eq!((word(&log, 32), word(&log, 48)), (0, 2), "units of 512000 bytes, rounded up");
    assert_eq!((word(&log, 64), word(&log, 80)), (1, 10));
    assert_eq!((word(&log, 112), word(&log, 144), word(&log, 160), word(&log, 176)), (1, 0, 1, 1));
    host.board.cut_power();
    host.enable(0);
    host.wait_status(1, 1);
    let log = host.page(|page| Script::log(2, 512, page), 512);
    assert_eq!((word(&log, 112), word(&log, 144)), (2, 1));
}

#[test]
fn the_error_log_has_the_newest_first() {
    let mut host = Host::up(config());
    let data = host.data;
    host.io(Script::read(u64::MAX, 1, [data, 0]));
    host.io(Script { namespace: 7, ..Script::read(3, 1, [data, 0]) });
    let log = host.page(|page| Script::log(1, 1024, page), 1024);
    let entry = |at: usize| {
        let half = |offset: usize| word(&log, at * 64 + offset) & 0xffff;
        (word(&log, at * 64), half(8), half(10), half(12), word(&log, at * 64 + 16), word(&log, at * 64 + 24))
    };
    assert_eq!(entry(0), (2, 1, 1, 0x8016, 3, 7));
    assert_eq!(entry(1), (1, 1, 0, 0x8100, u32::MAX, 1));
    assert_eq!(entry(2), (0, 0, 0, 0, 0, 0));
    host.assert_clean();
}

#[test]
fn logs_have_offsets_lengths_and_limits() {
    let mut host = Host::enabled(config());
    let whole = host.page(|page| Script::log(5, 4096, page), 4096);
    assert_eq!((word(&whole, 6 * 4), word(&whole, 0x7c * 4), word(&whole, 0x80 * 4)), (1, 1, 0));
    assert_eq!((word(&whole, 1024 + 4), word(&whole, 1024 + 8), word(&whole, 1024 + 0x19 * 4)), (3, 1, 0));
    let part = host.page(|page| Script { dwords: [3 << 16 | 5, 0, 1024, 0, 0, 0], ..Script::log(5, 16, page) }, 16);
    assert_eq!(part, whole[1024..1040]);
    let data = host.data;
    let at = |offset| Script { dwords: [3 << 16 | 5, 0, offset, 0, 0, 0], ..Script::log(5, 16, data) };
    assert_eq!([2, 5000].map(|offset| host.admin(at(offset)).status), [2, 2]);
    assert_eq!(host.admin(Script::log(9, 512, data)).status, 0x109);
    let mut host = Host::enabled(ControllerConfig { effects_log: false, log_offsets: false, ..config() });
    let data = host.data;
    assert_eq!(host.admin(Script::log(5, 4096, data)).status, 0x109);
    let at = |offset| Script { dwords: [3 << 16 | 2, 0, offset, 0, 0, 0], ..Script::log(2, 16, data) };
    assert_eq!([0, 8].map(|offset| host.admin(at(offset)).status), [0, 2]);
    host.assert_clean();
}

#[test]
fn abort_takes_a_command_back_and_says_when_there_is_none() {
    let mut host = Host::up(config());
    host.board.add_fault(Fault::Swallowed(0));
    let data = host.data;
    let id = host.submit(1, Script::read(0, 1, [data, 0]));
    let abort = |id: u16| Script::admin(8, u32::from(id) << 16 | 1, 0);
    assert_eq!(host.admin(abort(id + 1)).result, 1);
    assert_eq!(host.admin(abort(id)).result, 0);
    let entry = host.take(1).unwrap();
    assert_eq!((entry.id, entry.half_word), (id, 0x000e));
    assert_eq!(host.admin(abort(id)).result, 1);
    host.board.clear_faults();
    host.board.add_fault(Fault::AbortFails);
    let id = host.submit(1, Script::read(0, 1, [data, 0]));
    assert_eq!(host.admin(abort(id)).result, 1);
    host.assert_clean();
}

#[test]
fn aborts_beyond_the_limit_fail() {
    let mut host = Host::up(ControllerConfig { abort_limit: 1, ..config() });
    (0..3).for_each(|id| _ = host.place(0, &Script::admin(8, id << 16 | 1, 0)));
    host.ring(0);
    let mut statuses = [0; 3].map(|_| host.wait(0).status);
    statuses.sort_unstable();
    assert_eq!(statuses, [0, 0, 0x103]);
}

#[test]
fn event_requests_beyond_the_limit_fail_and_the_others_wait_for_ever() {
    let mut host = Host::up(ControllerConfig { event_limit: 1, ..config() });
    let ids = [0; 3].map(|_| host.submit(0, Script::admin(12, 0, 0)));
    let entry = host.wait(0);
    assert_eq!((entry.id, entry.status), (ids[2], 0x105));
    assert_eq!(host.wait_for(0, 100_000_000_000), None);
    // An abort takes one back.
    host.submit(0, Script::admin(8, u32::from(ids[0]) << 16, 0));
    assert_eq!((host.wait(0).status, host.wait(0).result), (0x07, 0));
    host.submit(0, Script::admin(12, 0, 0));
    assert_eq!(host.wait_for(0, 1_000_000), None);
    host.assert_clean();
}

#[test]
fn an_event_is_told_once_and_again_after_its_log_was_read() {
    let mut host = Host::up(config());
    assert_eq!(host.admin(Script::admin(9, 11, 1 << 8 | 1 << 1)).status, 0);
    (0..3).for_each(|_| _ = host.submit(0, Script::admin(12, 0, 0)));
    host.board.set_temperature(400);
    assert_eq!(host.wait(0).result, 2 << 16 | 1 << 8 | 1);
    host.board.set_temperature(401);
    assert_eq!(host.wait_for(0, 1_000_000), None, "masked");
    let data = host.data;
    let retained = Script::log(2 | 1 << 15, 512, data);
    assert_eq!(host.admin(retained).status, 0);
    host.board.set_temperature(402);
    assert_eq!(host.wait_for(0, 1_000_000), None, "still masked: the log was read with RAE");
    let log = host.page(|page| Script::log(2, 512, page), 512);
    assert_eq!((log[0], word(&log, 1) & 0xffff), (2, 402));
    host.board.set_temperature(403);
    assert_eq!(host.wait(0).result, 2 << 16 | 1 << 8 | 1);
    host.board.set_read_only(1, true);
    assert_eq!(host.wait(0).result, 4 << 16 | 2);
    let changed = host.page(|page| Script::log(4, 4096, page), 4096);
    assert_eq!((word(&changed, 0), word(&changed, 4)), (1, 0));
    let changed = host.page(|page| Script::log(4, 4096, page), 4096);
    assert_eq!(word(&changed, 0), 0, "reading it clears it");
    host.assert_clean();
}

#[test]
fn events_that_were_not_asked_for_are_not_told() {
    let mut host = Host::up(config());
    host.submit(0, Script::admin(12, 0, 0));
    host.board.set_temperature(400);
    host.board.set_read_only(1, true);
    assert_eq!(host.wait_for(0, 1_000_000), None);
}

#[test]
fn an_event_waits_for_a_request_and_a_reset_forgets_both() {
    let mut host = Host::up(config());
    host.admin(Script::admin(9, 11, 2));
    host.board.set_temperature(400);
    host.submit(0, Script::admin(12, 0, 0));
    assert_eq!(host.wait(0).result, 2 << 16 | 1 << 8 | 1);
    host.submit(0, Script::admin(12, 0, 0));
    host.reset();
    host.enable(0);
    host.wait_status(1, 1);
    host.board.set_temperature(400);
    assert_eq!(host.wait_for(0, 1_000_000), None);
    host.assert_clean();
}

#[test]
fn planned_admin_failures_hit_their_opcode() {
    let mut host = Host::enabled(config());
    host.board.add_fault(Fault::AdminError { opcode: 6, half_word: 0xf00d });
    host.board.add_fault(Fault::AdminSwallowed(2));
    let data = host.data;
    assert_eq!(host.admin(Script::identify(1, 0, data)).half_word, 0xf00c);
    host.submit(0, Script::log(2, 512, data));
    assert_eq!(host.wait_for(0, 1_000_000_000), None);
    assert_eq!(host.admin(Script::admin(0x80, 0, 0)).status, 0x01);
    host.assert_clean();
}
