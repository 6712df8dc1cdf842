//! The coprocessor's owner in tests: lends memory of the board and keeps what it hears.

use hal::DmaRegion;
use rtkit::{Client, Crash, CrashReport, Endpoint, GrantError, Message, Stage};

use super::Board;

/// Lends memory and keeps what it hears.
pub(crate) struct Owner {
    board: Board,
    /// Lends nothing more.
    pub(crate) refuses: bool,
    /// Endpoint, address and size of what was lent, and how many messages had been sent by then.
    pub(crate) lent: Vec<(Endpoint, u64, usize, usize)>,
    pub(crate) taken_back: Vec<Endpoint>,
    pub(crate) given_up: Vec<Endpoint>,
    pub(crate) stages: Vec<&'static str>,
    pub(crate) lines: Vec<String>,
    pub(crate) crashes: Vec<Crash>,
    pub(crate) unknown: Vec<Message>,
}

impl Owner {
    pub(crate) fn new(board: &Board) -> Self {
        Self {
            board: board.clone(),
            refuses: false,
            lent: Vec::new(),
            taken_back: Vec::new(),
            given_up: Vec::new(),
            stages: Vec::new(),
            lines: Vec::new(),
            crashes: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// Where the memory lent on an endpoint lies.
    pub(crate) fn address(&self, endpoint: Endpoint) -> u64 {
        self.lent.iter().find(|lent| lent.0 == endpoint).expect("memory was lent").1
    }
}

impl Client<Board> for Owner {
    fn grant(&mut self, endpoint: Endpoint, size: usize) -> Result<DmaRegion<Board>, GrantError> {
        if self.refuses {
            return Err(GrantError::Filter("every entry is taken"));
        }
        let region = DmaRegion::new(&self.board, size, 0x4000)?;
        self.lent.push((endpoint, region.address(), size, self.board.sent().len()));
        Ok(region)
    }

    fn revoke(&mut self, endpoint: Endpoint, region: DmaRegion<Board>) {
        self.taken_back.push(endpoint);
        drop(region);
    }

    fn abandon(&mut self, endpoint: Endpoint, region: DmaRegion<Board>) {
        self.given_up.push(endpoint);
        region.quarantine();
    }

    fn stage(&mut self, stage: Stage) {
        self.stages.push(stage.name());
    }

    fn syslog(&mut self, context: &str, text: &str) {
        self.lines.push(format!("{context}: {text}"));
    }

    fn crashed(&mut self, report: &CrashReport<'_>) {
        report.log();
        self.crashes.push(report.summary());
    }

    fn unknown(&mut self, message: Message) {
        self.unknown.push(message);
    }
}
