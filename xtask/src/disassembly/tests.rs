//! The check on sequences made by hand, with each barrier and without, and on what the assembler makes of instructions.

use std::collections::BTreeSet;

use super::instruction::{Instruction, Next, Strength};
use super::order::{Barrier, Code};

const START: u64 = 0x1000;

const STORE: u32 = 0xb900_0009; // str w9, [x0]
const LOAD: u32 = 0xb940_0328; // ldr w8, [x25]
const NOP: u32 = 0xd503_201f;
const RET: u32 = 0xd65f_03c0;
const CALL: u32 = 0x9400_0100; // bl .+0x400
const OSH: u32 = 0xd503_33bf;
const OSHST: u32 = 0xd503_32bf;
const OSHLD: u32 = 0xd503_31bf;
const ISH: u32 = 0xd503_3bbf;
const DSB_SY: u32 = 0xd503_3f9f;
const IF_NOT: u32 = 0x5400_0001; // b.ne .
const JUMP: u32 = 0x1400_0000; // b .

/// `IF_NOT` or `JUMP` over so many instructions.
fn over(branch: u32, instructions: u32) -> u32 {
    let shift = if branch == IF_NOT { 5 } else { 0 };
    branch | (instructions + 1) << shift
}

/// The guards of the last load of a function, with its stores as the first accesses.
fn guards(words: &[u32], strength: Strength) -> Result<Vec<u64>, u64> {
    let code = Code::new(START, words.iter().copied());
    let places = |what: u32| code.instructions().filter(move |(_, found)| found.0 == what).map(|(address, _)| address);
    let load = places(LOAD).last().expect("a load");
    let guards = code.guards(load, &places(STORE).collect(), strength)?;
    Ok(guards.iter().map(|barrier| barrier.address).collect())
}

#[test]
fn a_full_barrier_between_store_and_load_is_found() {
    for barrier in [OSH, DSB_SY] {
        assert_eq!(guards(&[NOP, STORE, NOP, barrier, NOP, LOAD, RET], Strength::Full), Ok(vec![START + 12]));
    }
}

#[test]
fn a_load_without_a_barrier_is_found_out_by_the_store_before_it() {
    assert_eq!(guards(&[NOP, STORE, NOP, NOP, LOAD, RET], Strength::Full), Err(START + 4));
}

#[test]
fn a_barrier_that_does_not_order_the_two_is_none() {
    for barrier in [OSHST, OSHLD, ISH, NOP, CALL] {
        assert_eq!(guards(&[NOP, STORE, barrier, LOAD, RET], Strength::Full), Err(START + 4), "{barrier:#x}");
    }
    for barrier in [OSHST, ISH] {
        assert_eq!(guards(&[NOP, STORE, barrier, LOAD, RET], Strength::Loads), Err(START + 4), "{barrier:#x}");
    }
    for barrier in [OSHLD, OSH, DSB_SY] {
        assert_eq!(guards(&[NOP, STORE, barrier, LOAD, RET], Strength::Loads), Ok(vec![START + 8]), "{barrier:#x}");
    }
}

#[test]
fn a_barrier_on_the_wrong_side_is_none() {
    assert_eq!(guards(&[NOP, OSH, STORE, LOAD, RET], Strength::Full), Err(START + 8));
    assert_eq!(guards(&[NOP, STORE, LOAD, OSH, RET], Strength::Full), Err(START + 4));
}

#[test]
fn every_way_needs_its_barrier() {
    let either = [NOP, STORE, over(IF_NOT, 2), DSB_SY, over(JUMP, 1), OSH, LOAD, RET];
    assert_eq!(guards(&either, Strength::Full), Ok(vec![START + 12, START + 20]));
    let around = [NOP, STORE, over(IF_NOT, 1), OSH, LOAD, RET];
    assert_eq!(guards(&around, Strength::Full), Err(START + 4));
}

#[test]
fn a_way_from_the_functions_begin_or_from_nowhere_needs_a_barrier_too() {
    assert_eq!(guards(&[NOP, LOAD, RET], Strength::Loads), Err(START));
    assert_eq!(guards(&[OSHLD, LOAD, RET], Strength::Loads), Ok(vec![START]));
    let nowhere = [NOP, STORE, OSH, over(JUMP, 2), RET, NOP, LOAD, RET];
    assert_eq!(guards(&nowhere, Strength::Full), Err(START + 20));
}

#[test]
fn a_loop_is_walked_once() {
    let back = JUMP | 0x03ff_fffc; // b .-16
    assert_eq!(guards(&[NOP, STORE, OSH, LOAD, NOP, back, RET], Strength::Full), Ok(vec![START + 8]));
}

#[test]
fn the_store_has_to_be_before_the_barrier() {
    let code = Code::new(START, [NOP, STORE, OSH, LOAD, RET]);
    let barrier = |address| [Barrier { address, name: "dmb osh" }];
    assert!(code.follows(&barrier(START + 8), &BTreeSet::from([START + 4])));
    let late = Code::new(START, [NOP, OSH, LOAD, STORE, RET]);
    assert!(!late.follows(&barrier(START + 4), &BTreeSet::from([START + 12])));
}

#[test]
fn accesses_of_words_are_told_from_others() {
    // ldr w8, [x25] / [x1, #4] / [x1, x2] / [x1], #4 / [x1, #4]! / ldur w8, [x1, #-4]
    for word in [LOAD, 0xb940_0428, 0xb862_6828, 0xb840_4428, 0xb840_4c28, 0xb85f_c028] {
        assert!(Instruction(word).loads_word() && !Instruction(word).stores_word(), "{word:#x}");
        let store = Instruction(word & !(1 << 22));
        assert!(store.stores_word() && !store.loads_word(), "{word:#x}");
    }
    // ldr x8, [x1]; ldrb w8, [x1]; ldrsw x8, [x1]; ldr s8, [x1]; ldadd w1, w2, [x3]; ldp w1, w2, [x3]
    for word in [0xf940_0028, 0x3940_0028, 0xb980_0028, 0xbd40_0028, 0xb821_0062, 0x2940_0861] {
        assert!(!Instruction(word).loads_word() && !Instruction(word).stores_word(), "{word:#x}");
    }
}

#[test]
fn branches_go_where_the_assembler_meant() {
    let cases = [
        (0x1400_0002, Next::Jump(8)),
        (0x17ff_ffff, Next::Jump(-4)),
        (0x5400_0041, Next::Either(8)),  // b.ne
        (0xb4ff_ffe9, Next::Either(-4)), // cbz x9
        (0x3500_0049, Next::Either(8)),  // cbnz w9
        (0x3607_ffe8, Next::Either(-4)), // tbz w8, #0
        (0xb710_0048, Next::Either(8)),  // tbnz x8, #34
        (CALL, Next::Following),
        (0xd63f_0100, Next::Following), // blr x8
        (0xd61f_0100, Next::Away),      // br x8
        (RET, Next::Away),
        (0xd420_0020, Next::Away), // brk #1
        (0x0000_c11f, Next::Away), // udf
        (LOAD, Next::Following),
    ];
    for (word, next) in cases {
        assert_eq!(Instruction(word).next(), next, "{word:#x}");
    }
}
