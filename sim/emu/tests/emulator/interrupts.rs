//! Interrupts: the timer past the controller as FIQ, everything else through the AIC as IRQ.

use crate::program::*;
use emu::Ended;

const AIC: u64 = 0x2_3b10_0000;
const WRITE_CNTV_CVAL: u32 = 0xd51b_e340;
const WRITE_CNTV_CTL: u32 = 0xd51b_e320;
const UNMASK_IRQ: u32 = 0xd503_42ff;
const UNMASK_FIQ: u32 = 0xd503_41ff;
const FOREVER: u32 = 0x1400_0000;
const WFI: u32 = 0xd503_207f;

/// `body` first; `handler` at that vector of the group for EL1 with its own stack.
fn with_handler(body: Program, vector: usize, handler: Program) -> Program {
    let start = Program::new().set(0, emu::IMAGE_ADDRESS + 0x800).word(WRITE_VBAR);
    start.then(body).pad_to(0xa00 + vector).then(handler).print("\nanvil: success\n").power_off()
}

#[test]
fn the_timer_interrupts_a_spinning_core_within_the_interval_of_its_looks() {
    let body = Program::new().set(1, 5000).word(WRITE_CNTV_CVAL | 1).set(1, 1).word(WRITE_CNTV_CTL | 1);
    let handler = Program::new().word(READ_CNTVCT | 1).send(1);
    let seen = run(&with_handler(body.word(UNMASK_FIQ).word(FOREVER), 0x100, handler));
    assert_eq!(seen.run.ended, Ended::Success);
    // 8192 instructions are 2.56 us: 62 ticks.
    assert!((5000..5070).contains(&seen.sent(0)), "{}", seen.sent(0));
}

#[test]
fn the_timer_ends_a_wait_for_interrupt_at_its_tick() {
    let body = Program::new().set(1, 240_000).word(WRITE_CNTV_CVAL | 1).set(1, 1).word(WRITE_CNTV_CTL | 1);
    let handler = Program::new().word(READ_CNTVCT | 1).send(1);
    let seen = run(&with_handler(body.word(UNMASK_FIQ).word(WFI).word(FOREVER), 0x100, handler));
    assert_eq!(seen.sent(0), 240_000);
}

#[test]
fn an_interrupt_of_the_controller_is_taken_once_it_is_unmasked_in_the_core() {
    // Interrupt 5 to this core, unmasked in the AIC, triggered by software; EVENT then says: IRQ, number 5.
    let body = Program::new()
        .set(0, AIC)
        .set(1, 1)
        .set(2, 1 << 5)
        .store32(1, 0, 0x3000 + 4 * 5)
        .set(3, AIC + 0x4000)
        .store32(2, 3, 0x180)
        .store32(2, 3, 0)
        .set(6, 0)
        .word(UNMASK_IRQ)
        .set(6, 7)
        .word(FOREVER);
    let handler = Program::new().load32(1, 0, 0x2004).send(1).send(6);
    let seen = run(&with_handler(body, 0x80, handler));
    assert_eq!(seen.sent(0), 1 << 16 | 5);
    assert_eq!(seen.sent(1), 0, "taken between the unmasking and the next instruction");
}
