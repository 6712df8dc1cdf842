//! Admin commands of the owner's.

use nvme::{AdminCommand, PassThroughError};

use crate::fake::Board;

fn command(opcode: u8, dwords: [u32; 6]) -> AdminCommand {
    AdminCommand { opcode, namespace: 0, dwords }
}

#[test]
fn whatever_could_change_the_controller_is_refused() {
    let board = Board::new();
    let mut controller = board.enable();
    board.take_log();
    for opcode in (0..=255).filter(|opcode| ![0x02, 0x06, 0x09, 0x0a].contains(opcode)) {
        let refused = controller.pass_through(command(opcode, [1, 0, 0, 0, 0, 0]), &mut []);
        assert_eq!(refused, Err(PassThroughError::Refused { opcode }));
    }
    let queues = controller.pass_through(command(9, [7, 0, 0, 0, 0, 0]), &mut []);
    assert_eq!(queues, Err(PassThroughError::Refused { opcode: 9 }));
    assert_eq!(board.take_log(), []);
}

#[test]
fn an_identify_that_apples_controllers_fail_on_is_refused() {
    let board = Board::new();
    let mut controller = board.enable();
    for structure in [2, 3, 5, 0x10, 0xff] {
        let refused = controller.pass_through(command(6, [structure, 0, 0, 0, 0, 0]), &mut []);
        assert_eq!(refused, Err(PassThroughError::Refused { opcode: 6 }), "{structure:#x}");
    }
    let mut model = [0; 64];
    controller.pass_through(command(6, [1, 0, 0, 0, 0, 0]), &mut model).unwrap();
    assert_eq!(&model[24..29], b"APPLE");
    board.assert_clean();
}

#[test]
fn a_log_page_is_read_up_to_the_memory_there_is() {
    let board = Board::new();
    let mut controller = board.enable();
    let mut page = [0; 600];
    controller.pass_through(command(2, [127 << 16 | 2, 0, 0, 0, 0, 0]), &mut page).unwrap();
    assert_eq!((page[0], page[511], page[512]), (0x5a, 0x5a, 0));
    for dwords in [[1024 << 16 | 2, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0]] {
        let refused = controller.pass_through(command(2, dwords), &mut page);
        assert_eq!(refused, Err(PassThroughError::Refused { opcode: 2 }));
    }
    board.assert_clean();
}

#[test]
fn a_feature_is_the_result_itself() {
    let board = Board::new();
    let mut controller = board.enable();
    assert_eq!(controller.pass_through(command(0x0a, [6, 0, 0, 0, 0, 0]), &mut []), Ok(0x1234));
}
