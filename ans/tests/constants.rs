//! The drivers' constants against the models' own reading of the reference.
//!
//! The models share no constant with the drivers. Where a model names its registers, the names are compared; where it only
//! shows values, the values are.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod common;

use ans::spec as around;
use ans::{Config, sart};
use common::{hardware, start};
use hal::Mmio;
use nvme::spec::registers as standard;
use nvme::transport::apple::spec as apple;
use rtkit::spec::mailbox;
use sim::host::Board;
use sim::nvme::register_name;
use sim::{AnsState, MachineConfig};
use tock_registers::LocalRegisterCopy;

#[test]
fn every_register_of_the_controller_lies_where_the_model_has_it() {
    let named = [
        (standard::CAPABILITIES.offset(), "CAP"),
        (standard::VERSION.offset(), "VS"),
        (standard::CONFIGURATION.offset(), "CC"),
        (standard::STATUS.offset(), "CSTS"),
        (standard::ADMIN_QUEUE_ATTRIBUTES.offset(), "AQA"),
        (standard::ADMIN_SUBMISSION_QUEUE.offset(), "ASQ"),
        (standard::ADMIN_COMPLETION_QUEUE.offset(), "ACQ"),
        (standard::ADMIN_COMPLETION_HEAD.offset(), "ADMIN_CQ_HEAD"),
        (standard::IO_COMPLETION_HEAD.offset(), "IO_CQ_HEAD"),
        (around::BOOT_STATUS.offset(), "BOOT_STATUS"),
        (apple::PENDING_COMMANDS.offset(), "MAX_PEND_CMDS_CTRL"),
        (apple::UNKNOWN_CONTROL_REGISTER.offset(), "UNKNOWN_CTRL"),
        (apple::LINEAR_CONTROL.offset(), "LINEAR_SQ_CTRL"),
        (apple::LINEAR_ADMIN_DOORBELL.offset(), "LINEAR_ASQ_DB"),
        (apple::LINEAR_IO_DOORBELL.offset(), "LINEAR_IOSQ_DB"),
        (apple::TCB_COUNT.offset(), "NVMMU_NUM_TCBS"),
        (apple::ADMIN_TCB_BASE.offset(), "NVMMU_ASQ_TCB_BASE"),
        (apple::IO_TCB_BASE.offset(), "NVMMU_IOSQ_TCB_BASE"),
        (apple::TCB_INVALIDATE.offset(), "NVMMU_TCB_INVAL"),
        (apple::TCB_STATUS.offset(), "NVMMU_TCB_STAT"),
    ];
    for (offset, name) in named {
        assert_eq!(register_name(offset as u64), Some(name), "{offset:#x}");
        assert!((offset as u64) < around::span::NVME);
    }
}

#[test]
fn every_register_around_it_lies_where_the_models_have_it() {
    let named = [
        ("asc", around::CPU_CONTROL.offset(), 4, "ASC_CPU_CONTROL"),
        ("mailbox", mailbox::A2I_CONTROL.offset(), 4, "MAILBOX_A2I_CONTROL"),
        ("mailbox", mailbox::I2A_CONTROL.offset(), 4, "MAILBOX_I2A_CONTROL"),
        ("mailbox", mailbox::A2I_SEND0.offset(), 8, "MAILBOX_A2I_SEND0"),
        ("mailbox", mailbox::A2I_SEND1.offset(), 8, "MAILBOX_A2I_SEND1"),
        ("mailbox", mailbox::I2A_RECV0.offset(), 8, "MAILBOX_I2A_RECV0"),
        ("mailbox", mailbox::I2A_RECV1.offset(), 8, "MAILBOX_I2A_RECV1"),
        ("sart", around::sart_config(0).offset(), 4, "SART_CONFIG[0]"),
        ("sart", around::sart_config(15).offset(), 4, "SART_CONFIG[15]"),
        ("sart", around::sart_address(0).offset(), 4, "SART_PADDR[0]"),
        ("sart", around::sart_address(15).offset(), 4, "SART_PADDR[15]"),
        ("sart", around::sart_size(0).offset(), 4, "SART_SIZE[0]"),
        ("sart", around::sart_size(15).offset(), 4, "SART_SIZE[15]"),
    ];
    for (block, offset, size, name) in named {
        // Running: all blocks have power. What is read does not matter, only under which name it is counted.
        let board = Board::new(MachineConfig::new(AnsState::Running));
        let (_, base, _) = sim::Machine::windows().find(|window| window.0 == block).unwrap();
        board.read(base + offset as u64, size);
        assert!(board.report().mmio.contains_key(name), "{name} is not at {block}+{offset:#x}");
    }
    let last = [
        (around::CPU_CONTROL.offset(), around::span::COPROCESSOR),
        (mailbox::I2A_RECV1.offset(), around::span::MAILBOX),
    ];
    assert!(last.iter().all(|(offset, span)| (*offset as u64) < *span));
    assert_eq!(around::sart_size(around::SART_ENTRIES).offset() as u64, around::span::SART);
}

#[test]
fn values_mean_the_same_to_the_models() {
    let board = Board::new(MachineConfig::new(AnsState::Running));
    let run = board.window("asc").read32(around::CPU_CONTROL.offset());
    assert_eq!(run, around::CpuControl::RUN::SET.value);

    let word = board.window("pmgr").read32(0x3f0);
    assert_eq!(around::PowerState::TARGET.read(word), around::POWER_ACTIVE);
    assert_eq!(around::PowerState::ACTUAL.read(word), around::POWER_ACTIVE);

    let config = MachineConfig::new(AnsState::Running);
    for (index, entry) in config.sart_boot_entries.iter().enumerate() {
        let at = |offset: usize| board.window("sart").read32(offset);
        let word =
            LocalRegisterCopy::<u32, around::SartConfig2::Register>::new(at(around::sart_config(index).offset()));
        assert_eq!(word.read(around::SartConfig2::FLAGS), around::SART_ALLOW);
        assert_eq!(u64::from(word.read(around::SartConfig2::SIZE)) << around::SART_PAGE_SHIFT, entry.size);
        assert_eq!(u64::from(at(around::sart_address(index).offset())) << around::SART_PAGE_SHIFT, entry.address);
    }

    let (ans, _) = start(hardware(&board), Config::default());
    assert_eq!(board.window("nvme").read32(around::BOOT_STATUS.offset()), around::BOOT_STATUS_READY);
    ans.unwrap().shutdown(&mut |_, _| {}).unwrap();
}

#[test]
fn both_layouts_of_the_sart_mean_the_same_to_the_models() {
    for (number, version) in [(2, sart::Version::Two), (3, sart::Version::Three)] {
        let mut config = MachineConfig::new(AnsState::Stopped);
        config.sart_version = number;
        let board = Board::new(config);
        let parts = ans::Hardware { sart_version: version, ..hardware(&board) };
        let ans = start(parts, Config::default()).0.unwrap();
        ans.shutdown(&mut |_, _| {}).unwrap();
        board.finish();
        common::assert_clean(&board);
    }
}
