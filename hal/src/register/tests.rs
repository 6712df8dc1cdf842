use tock_registers::interfaces::{ReadWriteable, Readable, Writeable};
use tock_registers::register_bitfields;

use crate::testing::FakeWindow;
use crate::trace::Direction::{Read, Write};
use crate::{Register, Register64, Word64};

register_bitfields![u32, CONTROL [ RUN OFFSET(4) NUMBITS(1) [], MODE OFFSET(8) NUMBITS(4) [] ]];
register_bitfields![u64, WIDE [ HIGH OFFSET(32) NUMBITS(8) [] ]];

#[test]
fn a_32_bit_register_is_one_access_each_way() {
    let window = FakeWindow::with(&[(0x44, 0x0000_0f10)]);
    let control: Register<CONTROL::Register> = Register::at(0x44);
    assert!(control.of(&window).is_set(CONTROL::RUN));
    control.of(&window).modify(CONTROL::MODE.val(3));
    let (read, written) = ((Read, 0x44, 4, 0xf10), (Write, 0x44, 4, 0x310));
    assert_eq!(window.accesses(), [read, read, written]);
}

#[test]
fn a_64_bit_register_is_two_halves_with_the_low_one_first() {
    let window = FakeWindow::with(&[(0x28, 1), (0x2c, 2)]);
    let queue: Register64<WIDE::Register> = Register64::at(0x28);
    assert_eq!(queue.of(&window).get(), 0x2_0000_0001);
    queue.of(&window).write(WIDE::HIGH.val(5));
    let expected = [(Read, 0x28, 4, 1), (Read, 0x2c, 4, 2), (Write, 0x28, 4, 0), (Write, 0x2c, 4, 5)];
    assert_eq!(window.accesses(), expected);
}

#[test]
fn a_mailbox_word_is_a_single_64_bit_access() {
    let window = FakeWindow::with(&[(0x830, 7), (0x834, 8)]);
    let word: Word64 = Word64::at(0x830);
    assert_eq!(word.of(&window).get(), 0x8_0000_0007);
    word.of(&window).set(0x1122_3344_5566_7788);
    assert_eq!(window.accesses(), [(Read, 0x830, 8, 0x8_0000_0007), (Write, 0x830, 8, 0x1122_3344_5566_7788)]);
}

#[test]
fn descriptors_know_their_offset() {
    assert_eq!(
        (Register::<()>::at(4).offset(), Register64::<()>::at(8).offset(), Word64::<()>::at(16).offset()),
        (4, 8, 16)
    );
}
