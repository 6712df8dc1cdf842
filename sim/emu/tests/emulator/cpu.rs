//! The CPU on the machine: widths of accesses, time, aborts.

use crate::program::*;
use emu::Ended;

#[test]
fn a_64_bit_store_arrives_as_one_access_and_two_32_bit_stores_as_two() {
    let program = Program::new()
        .power_ans()
        .set(0, MAILBOX)
        .set(1, 0x1122_3344_5566_7788)
        .store64(1, 0, 0x800)
        .store64(31, 0, 0x808)
        .store32(1, 0, 0x800)
        .store32(31, 0, 0x804)
        .print("\nanvil: success\n")
        .power_off();
    let trace = run(&program).trace;
    let mailbox: Vec<_> = trace.lines().filter(|line| line.contains("mbox")).collect();
    assert_eq!(
        mailbox,
        [
            "W8 mbox+00800 1122334455667788",
            "W8 mbox+00808 0000000000000000",
            "W4 mbox+00800 55667788",
            "W4 mbox+00804 00000000",
        ]
    );
}

#[test]
fn a_64_bit_load_is_one_access_and_gives_both_halves() {
    let program =
        Program::new().power_ans().set(0, NVME).load64(1, 0, 0).send(1).print("\nanvil: success\n").power_off();
    let seen = run(&program);
    let expected = format!("R8 nvme+00000 {:016x}", seen.sent(0));
    assert_eq!(seen.trace.lines().filter(|line| **line == expected).count(), 1, "{}", seen.trace);
    // What the trace has is what the model gave at once; neither half may hide in a zero.
    assert!(seen.sent(0) >> 32 != 0 && seen.sent(0) & 0xffff_ffff != 0);
}

#[test]
fn wfe_sleeps_exactly_to_the_next_event_of_the_stream() {
    // CNTKCTL_EL1: event stream on, bit 7 of the counter, rising: an event every 256 ticks, at 128 modulo 256.
    let mut program = Program::new().set(0, 1 << 2 | 7 << 4).word(WRITE_CNTKCTL);
    for register in 1..5 {
        program = program.word(WFE).word(READ_CNTVCT | register);
    }
    for register in 1..5 {
        program = program.send(register);
    }
    let seen = run(&program.print("\nanvil: success\n").power_off());
    let counts: Vec<_> = (0..4).map(|index| seen.sent(index)).collect();
    assert_eq!(counts, [128, 384, 640, 896]);
}

#[test]
fn the_counter_moves_with_instructions_and_is_the_same_in_every_run() {
    // 192 million ticks of a third-nanosecond instruction: 24 MHz, so 400 ticks in 53,333 instructions.
    let mut program = Program::new().word(READ_CNTVCT | 1).set(0, 26_667);
    program = program
        .word(0xf100_0400) // subs x0, x0, #1
        .word(0x54ff_ffe1) // b.ne .-4
        .word(READ_CNTVCT | 2)
        .send(1)
        .send(2)
        .print("\nanvil: success\n")
        .power_off();
    let (first, second) = (run(&program), run(&program));
    assert_eq!(first.sent(1) - first.sent(0), 400);
    assert_eq!(first.console, second.console);
    assert_eq!(serde_json::to_string(&first.run.json).unwrap(), serde_json::to_string(&second.run.json).unwrap());
}

/// A program whose vector for synchronous exceptions reports ESR, FAR and ELR; `body` begins at the image's start.
fn with_vectors(body: Program) -> Program {
    let handler = |program: Program| {
        program
            .word(READ_ESR | 1)
            .word(READ_FAR | 2)
            .word(READ_ELR | 3)
            .send(1)
            .send(2)
            .send(3)
            .print("\nanvil: failure: abort\n")
            .power_off()
    };
    // The table is 2 KiB and aligned to its size; the image is at 8 MiB into RAM. Only one entry is filled, and its
    // handler runs over the ones behind it.
    handler(body.pad_to(0xa00))
}

fn vectors() -> Program {
    Program::new().set(0, emu::IMAGE_ADDRESS + 0x800).word(WRITE_VBAR)
}

#[test]
fn a_load_from_a_block_whose_power_domain_is_off_takes_the_abort_vector() {
    let body = vectors().set(4, NVME).set(5, 0x55).load32(5, 4, 0x1c);
    let at = body.bytes().len() as u64 - 4;
    let seen = run(&with_vectors(body));
    assert_eq!(seen.sent(0), 0x9600_0010, "data abort from the same level, external, read");
    assert_eq!(seen.sent(1), NVME + 0x1c);
    assert_eq!(seen.sent(2), emu::IMAGE_ADDRESS + at);
    assert_eq!(seen.run.ended, Ended::Failure("abort".into()));
    assert_eq!(seen.run.ended.code(), 1);
}

#[test]
fn a_refused_store_leaves_the_state_of_that_store() {
    // The instructions behind the store would change X5 and FAR's address register, were they done.
    let body = vectors().set(4, NVME).store64(31, 4, 0x28).set(4, 0).set(5, 0);
    let at = body.bytes().len() as u64 - 36;
    let seen = run(&with_vectors(body));
    assert_eq!(seen.sent(0), 0x9600_0050, "data abort from the same level, external, write");
    assert_eq!(seen.sent(1), NVME + 0x28);
    assert_eq!(seen.sent(2), emu::IMAGE_ADDRESS + at);
}

#[test]
fn calls_breakpoints_and_undefined_instructions_take_the_vector_with_their_syndrome() {
    for (word, syndrome, behind) in [
        (0xd400_0541, 0x5600_002a, 4), // svc #42
        (0xd420_0e20, 0xf200_0071, 0), // brk #0x71
        (0x0000_0000, 0x0200_0000, 0), // udf #0
    ] {
        let body = vectors().word(word);
        let at = body.bytes().len() as u64 - 4;
        let seen = run(&with_vectors(body));
        assert_eq!(seen.sent(0), syndrome, "{word:#x}");
        assert_eq!(seen.sent(2), emu::IMAGE_ADDRESS + at + behind, "{word:#x}");
    }
}

#[test]
fn an_exception_without_vectors_is_a_crash_that_says_where() {
    let seen = run(&Program::new().set(4, NVME).load32(5, 4, 0x1c));
    let Ended::Crashed(reason) = &seen.run.ended else { panic!("{:?}", seen.run.ended) };
    assert!(reason.contains("FAR 0x27bcc001c"), "{reason}");
    assert_eq!(seen.run.ended.code(), 3);
}

#[test]
fn the_return_from_an_exception_goes_on_behind_it() {
    // The vector skips the instruction that failed.
    let body = Program::new().set(6, 7).word(0x0000_0000).send(6).print("\nanvil: success\n").power_off();
    let program = skipping_faults(body);
    let seen = run(&program);
    assert_eq!(seen.sent(0), 7);
    assert_eq!(seen.run.ended, Ended::Success);
}

#[test]
fn a_system_register_that_only_apple_cores_have_reads_as_zero_and_takes_writes() {
    let program = Program::new()
        .set(1, 5)
        .word(0xd53d_f081) // mrs x1, s3_5_c15_c0_4
        .word(0xd51d_f081) // msr s3_5_c15_c0_4, x1
        .send(1)
        .print("\nanvil: success\n")
        .power_off();
    let seen = run(&program);
    assert_eq!(seen.sent(0), 0);
    assert_eq!(seen.run.ended, Ended::Success);
}
