//! How runs end, and what they report.

use crate::program::*;
use emu::Ended;

#[test]
fn an_image_that_reports_success_and_powers_off_has_succeeded() {
    let seen = run(&Program::new().print("[    0.1] hello\r\nanvil: success\r\n").power_off());
    assert_eq!(seen.run.ended, Ended::Success);
    assert_eq!(seen.run.ended.code(), 0);
    assert_eq!(seen.console, b"[    0.1] hello\r\nanvil: success\r\n");
    assert_eq!(seen.run.json["exit"], "ok");
}

#[test]
fn a_reported_failure_is_repeated_and_wins_over_a_later_success() {
    let text = "anvil: failure: sart: entry 3 is protected\nanvil: success\n";
    let seen = run(&Program::new().print(text).power_off());
    assert_eq!(seen.run.ended, Ended::Failure("sart: entry 3 is protected".into()));
    assert_eq!(seen.run.ended.code(), 1);
}

#[test]
fn a_verdict_that_the_image_only_quotes_is_none() {
    let text = "1  34  99  anvil: success\n00001000  |anvil: failure: no|\n";
    let seen = run(&Program::new().print(text).power_off());
    assert_eq!(seen.run.ended, Ended::Reset);
}

#[test]
fn a_reset_without_a_verdict_is_no_success() {
    let seen = run(&Program::new().power_off());
    assert_eq!(seen.run.ended, Ended::Reset);
    assert_eq!(seen.run.ended.code(), 3);
}

#[test]
fn an_image_that_never_ends_runs_out_of_emulated_time_or_of_instructions() {
    let forever = Program::new().word(0x1400_0000); // b .
    let seen = run_with(&forever, |setup| setup.limit_ns = 1_000_000);
    assert!(matches!(&seen.run.ended, Ended::OutOfTime(limit) if limit.contains("emulated")));
    assert_eq!(seen.run.ended.code(), 3);
    let seen = run_with(&forever, |setup| setup.limit_instructions = 12_345);
    assert_eq!(seen.run.json["instructions"], 12_345);
    assert_eq!(seen.run.json["exit"], "out-of-time");
}

#[test]
fn a_core_that_waits_for_an_interrupt_that_never_comes_runs_out_of_time() {
    let seen = run(&Program::new().word(0xd503_207f).word(0x17ff_ffff)); // wfi; b .-4
    assert!(matches!(seen.run.ended, Ended::OutOfTime(_)));
}

#[test]
fn stages_and_marks_carry_the_time_and_the_counters_of_their_line() {
    let program = Program::new()
        .print("[    0.000001] stage: sart (1 us)\nmark: begin\n")
        .set(0, PMGR)
        .load32(1, 0, 0x108)
        .load32(1, 0, 0x108)
        .print("mark: end\nanvil: success\n")
        .power_off();
    let json = run(&program).run.json;
    assert_eq!(json["stages"][0]["name"], "sart");
    assert!(json["stages"][0]["emulated_ns"].as_u64() > Some(0));
    let (begin, end) = (&json["marks"]["begin"], &json["marks"]["end"]);
    let reads = |mark: &serde_json::Value| mark["mmio"]["reads"].as_u64().unwrap();
    assert_eq!(reads(end) - reads(begin), 2);
    let instructions = |mark: &serde_json::Value| mark["instructions"].as_u64().unwrap();
    // set: 4; two loads; mov and str for each of ten characters; the address of the UART: 4.
    assert_eq!(instructions(end) - instructions(begin), 4 + 2 + 4 + 20);
}

#[test]
fn registers_of_absent_blocks_read_as_zero_and_are_listed() {
    let program = Program::new()
        .set(0, 0x2_3e00_0000)
        .set(1, 0xffff)
        .load64(1, 0, 8)
        .store32(1, 0, 0x10)
        .send(1)
        .print("\nanvil: success\n")
        .power_off();
    let seen = run(&program);
    assert_eq!(seen.sent(0), 0);
    assert_eq!(seen.run.json["absent"]["0x23e000008"]["reads"], 1);
    assert_eq!(seen.run.json["absent"]["0x23e000010"]["writes"], 1);
    assert_eq!(seen.run.ended, Ended::Success);
}

#[test]
fn memory_behind_the_end_of_ram_is_not_there() {
    let seen = run(&Program::new().set(0, emu::memory::RAM + (64 << 20)).load32(1, 0, 0));
    assert!(
        matches!(&seen.run.ended, Ended::Crashed(reason) if reason.contains("FAR 0x804000000")),
        "{:?}",
        seen.run.ended
    );
}

#[test]
fn an_image_larger_than_ram_is_refused_before_it_runs() {
    let program = Program::new().power_off();
    let image = emu::Image { memory: 1 << 40, ..emu::Image::parse(program.bytes(), Some(0)).unwrap() };
    let setup = emu::Setup { image, ..setup(&program) };
    assert!(emu::run(setup).unwrap_err().contains("RAM"));
}
