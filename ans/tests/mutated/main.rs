//! The true driver with one mistake each: the models have to catch it, by the rule that was broken.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod mutant;
#[path = "../common/parts.rs"]
mod parts;

use ans::{Ans, Config};
use mutant::{Mutant, MutantPlatform, Mutation};
use nvme::{Buffer, Operation, Request};
use sim::host::Board;
use sim::{AnsState, MachineConfig};

/// A board on which ANS is found in that state, and ANS brought up on it with that mistake, if it comes up.
fn mutated(found: AnsState, mutation: Mutation) -> (Board, Option<Ans<MutantPlatform>>) {
    let board = Board::new(MachineConfig::new(found));
    let mutant = Mutant::new(&board, mutation);
    let hardware = parts::hardware_of(|block| mutant.window(block), mutant.pool(), board.clock());
    let (ans, _) = parts::start(hardware, Config::default());
    (board, ans.ok())
}

/// Takes ANS down, and gives the rules that were broken up to the end.
fn broken(board: &Board, ans: Option<Ans<MutantPlatform>>) -> Vec<&'static str> {
    // A mutant's end may be as bad as its life: what counts is what was caught.
    if let Some(ans) = ans {
        drop(ans.shutdown(&mut |_, _| {}));
    }
    board.finish();
    board.violations().iter().map(|violation| violation.rule).collect()
}

/// Two reads in flight at once.
fn two_reads(board: &Board, ans: &mut Ans<MutantPlatform>) {
    let pool = Mutant::new(board, Mutation::None).pool();
    let controller = ans.controller();
    for lba in [0, 8] {
        let buffer = Buffer::new(&pool, 4096).unwrap();
        let request = Request { namespace: 1, operation: Operation::Read { lba, count: 1 }, buffer: Some(buffer) };
        controller.submit(request).map_err(|refused| refused.error).unwrap();
    }
    while let Some(completion) = controller.wait() {
        completion.result.unwrap();
    }
}

#[test]
fn without_a_mistake_nothing_is_caught() {
    for found in [AnsState::Stopped, AnsState::Running] {
        let (board, ans) = mutated(found, Mutation::None);
        let mut ans = ans.unwrap();
        two_reads(&board, &mut ans);
        assert_eq!(broken(&board, Some(ans)), [""; 0]);
        assert!(board.report().notes.is_empty(), "{:?}", board.report().notes);
    }
}

#[test]
fn a_doorbell_between_an_invalidation_and_the_cq_head_is_caught() {
    let (board, ans) = mutated(AnsState::Stopped, Mutation::DoorbellBeforeHead);
    let mut ans = ans.unwrap();
    two_reads(&board, &mut ans);
    assert_eq!(broken(&board, Some(ans)), ["doorbell-before-head"]);
}

#[test]
fn a_reset_of_a_coprocessor_that_runs_is_caught() {
    let (board, ans) = mutated(AnsState::Running, Mutation::ResetWithoutLooking);
    assert!(ans.is_none(), "the coprocessor is broken");
    assert_eq!(broken(&board, ans), ["reset-while-running"]);
}

#[test]
fn a_command_without_a_control_block_is_caught() {
    let (board, ans) = mutated(AnsState::Stopped, Mutation::NoControlBlock);
    let mut ans = ans.unwrap();
    assert!(ans.controller().read(1, 0, &mut [0; 4096]).is_err());
    assert_eq!(broken(&board, Some(ans)), ["tcb-tag"]);
}

#[test]
fn a_control_block_with_the_wrong_direction_is_caught() {
    let (board, ans) = mutated(AnsState::Stopped, Mutation::DirectionSwapped);
    let mut ans = ans.unwrap();
    assert!(ans.controller().read(1, 0, &mut [0; 4096]).is_err());
    assert_eq!(broken(&board, Some(ans)), ["tcb-direction"]);
}

#[test]
fn a_buffer_without_a_sart_entry_is_caught() {
    let (board, ans) = mutated(AnsState::Stopped, Mutation::WindowNotOpened);
    assert!(ans.is_none(), "the coprocessor crashes");
    assert_eq!(broken(&board, ans), ["buffer-not-in-sart"]);
}

#[test]
fn a_tag_that_is_rung_again_before_its_invalidation_is_caught() {
    let (board, ans) = mutated(AnsState::Stopped, Mutation::NotInvalidated);
    let mut ans = ans.unwrap();
    let mut read = || ans.controller().read(1, 0, &mut [0; 4096]);
    read().unwrap();
    assert!(read().is_err(), "the second command is lost");
    assert_eq!(broken(&board, Some(ans)), ["tag-not-invalidated"]);
}
