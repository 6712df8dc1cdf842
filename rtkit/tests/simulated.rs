//! The coprocessor of the simulated machine, found stopped and found running.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a step that fails ends the test")]

use std::time::Duration;

use hal::DmaRegion;
use rtkit::{Client, Config, Coprocessor, Crash, CrashReport, Endpoint, Error, GrantError, Stage};
use sim::config::{AnsState, MachineConfig};
use sim::fault::{CrashStage, Fault};
use sim::host::plain::{ANS2, APCIE_ST, ASC, Plain, Plan, SART};
use sim::host::{Board, HostPlatform, Pool};

/// The first entry of the filter that is not the boot loader's.
const FIRST_ENTRY: u64 = 2;

/// Lends memory and opens the filter before it by register number.
struct Owner {
    plain: Plain,
    open: Vec<(Endpoint, u64)>,
    lines: Vec<String>,
    crashes: Vec<Crash>,
}

impl Client<Pool> for Owner {
    fn grant(&mut self, endpoint: Endpoint, size: usize) -> Result<DmaRegion<Pool>, GrantError> {
        let region = DmaRegion::new(&self.plain.pool, size, 0x4000)?;
        let entry = (FIRST_ENTRY..16).find(|entry| self.open.iter().all(|(_, used)| used != entry));
        let entry = entry.ok_or(GrantError::Filter("every entry is taken"))?;
        self.plain.write(SART, 0x40 + entry * 4, region.address() >> 12);
        self.plain.write(SART, entry * 4, 0xff << 24 | size.div_ceil(4096) as u64);
        self.open.push((endpoint, entry));
        Ok(region)
    }

    fn revoke(&mut self, endpoint: Endpoint, region: DmaRegion<Pool>) {
        let index = self.open.iter().position(|(owner, _)| *owner == endpoint).unwrap();
        let (_, entry) = self.open.remove(index);
        self.plain.write(SART, 0x40 + entry * 4, 0);
        self.plain.write(SART, entry * 4, 0);
        drop(region);
    }

    fn syslog(&mut self, context: &str, text: &str) {
        self.lines.push(format!("{context}: {text}"));
    }

    fn crashed(&mut self, report: &CrashReport<'_>) {
        self.crashes.push(report.summary());
    }
}

struct Bench {
    board: Board,
    owner: Owner,
    coprocessor: Coprocessor<HostPlatform>,
    running: bool,
}

impl Bench {
    /// A coprocessor that can be booted or woken: power on, and a stopped one reset and started.
    fn new(state: AnsState, faults: Vec<Fault>) -> Self {
        let running = state == AnsState::Running;
        let mut config = MachineConfig::new(state);
        config.faults = faults;
        let board = Board::new(config);
        let mut plain = Plain::new(&board, Plan::default());
        if running {
            plain.power(ANS2, 0xf).unwrap();
            plain.power(APCIE_ST, 0xf).unwrap();
        } else {
            plain.start().unwrap();
        }
        let owner = Owner { plain, open: Vec::new(), lines: Vec::new(), crashes: Vec::new() };
        let coprocessor = Coprocessor::new(board.window("mailbox"), board.pool(), Config::default());
        Self { board, owner, coprocessor, running }
    }

    fn bring_up(&mut self) -> Result<(), Error> {
        let clock = self.board.clock();
        if self.running {
            self.coprocessor.wake(&clock, &mut self.owner)
        } else {
            self.coprocessor.boot(&clock, &mut self.owner)
        }
    }

    fn assert_unharmed(&self) {
        assert_eq!(self.board.violations(), []);
    }
}

const BOTH: [AnsState; 2] = [AnsState::Stopped, AnsState::Running];

#[test]
fn it_comes_up_talks_and_goes_to_sleep_without_breaking_a_rule() {
    for state in BOTH {
        let mut bench = Bench::new(state, Vec::new());
        bench.bring_up().unwrap();
        let clock = bench.board.clock();
        for _ in 0..100 {
            bench.board.pass(20_000_000);
            bench.coprocessor.poll(&clock, &mut bench.owner).unwrap();
        }
        assert!(!bench.owner.lines.is_empty());
        bench.coprocessor.sleep(&clock, &mut bench.owner).unwrap();
        assert_eq!(bench.owner.open, []);
        assert_eq!(bench.board.pool_pages(), (0, 0));
        bench.owner.plain.write(ASC, 0x44, 0);
        bench.assert_unharmed();
    }
}

#[test]
fn it_comes_up_in_spite_of_what_it_is_late_with_or_says_besides() {
    for state in BOTH {
        for fault in [
            Fault::PowerAckDelay(29_000_000_000),
            Fault::HelloDelay(900_000_000),
            Fault::MailboxFullFor(150_000_000),
            Fault::WakeNeedsInit,
            Fault::SyslogGarbage,
            Fault::UnknownMessages,
            Fault::Versions(10, 20),
        ] {
            let mut bench = Bench::new(state, vec![fault.clone()]);
            bench.bring_up().unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            bench.coprocessor.sleep(&bench.board.clock(), &mut bench.owner).unwrap();
            bench.assert_unharmed();
        }
    }
}

#[test]
fn each_way_to_fail_is_told_by_its_stage() {
    for state in BOTH {
        for (fault, stage) in [
            (Fault::NoHello, Stage::Hello),
            (Fault::Versions(13, 14), Stage::Hello),
            (Fault::Versions(8, 10), Stage::Hello),
            (Fault::EndpointMapEndless, Stage::Endpoints),
            // Before it has memory for a record, firmware that crashes only goes silent.
            (Fault::Crash(CrashStage::Hello), Stage::Endpoints),
            (Fault::NoPowerAck, Stage::Power),
            (Fault::NoApAck, Stage::Power),
            (Fault::BufferPages(1, 0), Stage::Power),
        ] {
            let mut bench = Bench::new(state, vec![fault.clone()]);
            let error = bench.bring_up().expect_err("the fault shows");
            assert!(error.to_string().starts_with(stage.name()), "{fault:?}: {error}");
            assert!(Duration::from_nanos(bench.board.report().time_ns) < Duration::from_secs(80));
            bench.coprocessor.abandon(&mut bench.owner);
        }
    }
}

#[test]
fn a_crash_is_told_wherever_it_happens_once_there_is_memory_for_its_record() {
    for state in BOTH {
        for crash in [CrashStage::Buffers, CrashStage::Power, CrashStage::Running, CrashStage::Sleep] {
            let mut bench = Bench::new(state, vec![Fault::Crash(crash)]);
            let clock = bench.board.clock();
            let outcome = bench.bring_up().and_then(|()| {
                bench.board.pass(20_000_000);
                bench.coprocessor.poll(&clock, &mut bench.owner)?;
                bench.coprocessor.sleep(&clock, &mut bench.owner)
            });
            assert!(matches!(outcome, Err(Error::Crashed { .. })), "{crash:?}: {outcome:?}");
            assert_eq!(bench.owner.crashes.len(), 1);
            bench.coprocessor.abandon(&mut bench.owner);
        }
    }
}
