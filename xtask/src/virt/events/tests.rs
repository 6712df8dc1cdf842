use super::*;

fn read(log: &str) -> Events {
    Events::read(log.as_bytes()).unwrap()
}

/// The console events of a text.
fn typed(text: &str) -> String {
    text.bytes().map(|byte| format!("pl011_write addr 0x00000000 value 0x{byte:08x} \n")).collect()
}

#[test]
fn doorbells_are_counted_by_queue_and_the_admin_queue_is_no_io_queue() {
    let events = read(
        "pci_nvme_mmio_doorbell_sq sqid 0 new_tail 1\n\
         pci_nvme_mmio_doorbell_sq sqid 1 new_tail 1\n\
         12@1700000000.000001:pci_nvme_mmio_doorbell_sq sqid 1 new_tail 2\n\
         pci_nvme_mmio_doorbell_cq cqid 1 new_head 2\n\
         pci_nvme_mmio_doorbell_sq sqid 2 new_tail 1\n\
         pci_nvme_eventidx_sq sqid 1 new_eventidx 2\n\
         pci_nvme_shadow_doorbell_cq cqid 1 new_shadow_doorbell 2\n",
    );
    assert_eq!(events.total.io_doorbells(), 4);
    assert_eq!(events.total.doorbells[&1], Pair { submission: 2, completion: 1 });
    let json = Value::Object(events.total.json());
    assert_eq!(json.pointer("/doorbells/admin"), Some(&json!(1)));
    assert_eq!(json.pointer("/doorbells/by_queue/2/sq"), Some(&json!(1)));
    assert_eq!(json.pointer("/doorbells/event_index_writes_by_queue/1/sq"), Some(&json!(1)));
    assert_eq!(json.pointer("/doorbells/shadow_reads_by_queue/1/cq"), Some(&json!(1)));
}

#[test]
fn registers_commands_and_bytes_have_the_names_of_the_other_machines_report() {
    let events = read(
        "pci_nvme_mmio_read addr 0x1c size 4\n\
         pci_nvme_mmio_write addr 0x14 data 0x460000 size 4\n\
         pci_nvme_mmio_write addr 0x100c data 0x1 size 4\n\
         pci_nvme_mmio_write addr 0x1010 data 0x1 size 4\n\
         pci_nvme_admin_cmd cid 3 sqid 0 opc 0x6 opname 'NVME_ADM_CMD_IDENTIFY'\n\
         pci_nvme_io_cmd cid 3 nsid 0x1 sqid 1 opc 0x8 opname 'NVME_NVM_CMD_WRITE_ZEROES'\n\
         pci_nvme_read cid 3 nsid 1 nlb 8 count 4096 lba 0x10\n\
         pci_nvme_write cid 4 opname 'write' nsid 1 nlb 1 count 512 lba 0x10\n",
    );
    let json = Value::Object(events.total.json());
    for (key, value) in [
        ("/mmio/reads", 1),
        ("/mmio/writes", 3),
        ("/mmio/by_register/CSTS/reads", 1),
        ("/mmio/by_register/CC/writes", 1),
        ("/mmio/by_register/CQ1HDBL/writes", 1),
        ("/mmio/by_register/SQ2TDBL/writes", 1),
        ("/commands/identify", 1),
        ("/commands/write-zeroes", 1),
        ("/bytes/read", 4096),
        ("/bytes/written", 512),
    ] {
        assert_eq!(json.pointer(key), Some(&json!(value)), "{key} in {json}");
    }
}

#[test]
fn a_mark_on_the_console_parts_the_counts_where_it_stands() {
    let bell = "pci_nvme_mmio_doorbell_sq sqid 1 new_tail 1\n";
    let log = [
        bell,
        &typed("anvil\nmark: bench-st"),
        bell,
        &typed("art\r\n"),
        bell,
        &typed("\0frame\0mark: bench-end\n"),
        bell,
        &typed("mark: cut off"),
    ]
    .concat();
    let events = read(&log);
    let marks: Vec<_> = events.marks.iter().map(|(name, counts)| (name.as_str(), counts.io_doorbells())).collect();
    assert_eq!(marks, [("bench-start", 2), ("bench-end", 3)]);
    assert_eq!(events.total.io_doorbells(), 4);
}

#[test]
fn a_register_of_the_console_that_is_not_its_data_is_no_text() {
    let events = read(&typed("mark: x\n").replace("addr 0x00000000", "addr 0x00000030"));
    assert_eq!(events.marks, []);
}

#[test]
fn undefined_behaviour_is_kept_as_qemu_words_it() {
    let events =
        read("pci_nvme_ub_db_wr_invalid_sq submission queue doorbell write for nonexistent queue, sqid=9, ignoring\n");
    assert_eq!(events.violations.len(), 1);
    assert!(events.violations[0].contains("sqid=9"));
}

#[test]
fn lines_that_are_no_events_or_are_cut_change_nothing() {
    let mut log =
        b"\xff\xfe\x00\npci_nvme_read\npci_nvme_read \npci_nvme_read count\npci_nvme_read count x\npci_nvme_new a 1\n"
            .to_vec();
    log.extend(b"pl011_write addr 0x0 value 0x100\nqemu: something else");
    let events = Events::read(log.as_slice()).unwrap();
    assert_eq!(events.total, Counts::default());
    assert_eq!((events.marks.len(), events.violations.len()), (0, 0));
}
