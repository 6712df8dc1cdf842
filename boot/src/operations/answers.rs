//! Questions to the controller that only it can answer, most of them wrong ones.

use hal::Platform;
use nvme::spec::command::admin;
use nvme::spec::identify;
use nvme::{AdminCommand, Select};

use super::outcome::Outcome;
use super::{Entry, List};

/// No log page and no feature has this identifier (NVMe base specification 2.0: reserved in both).
const RESERVED: u32 = 0x6e;
/// No Identify structure of any command set has this number.
const NO_STRUCTURE: u32 = 0xff;
/// The feature that is the write cache.
const WRITE_CACHE: u8 = 0x06;
/// A log page of 16 bytes: the number of dwords less one.
const FOUR_DWORDS: u32 = 3 << 16;

impl<'a, P: Platform> List<'a, P> {
    pub(super) const ANSWERS: &'a [Entry<'a, P>] = &[
        ("identify the controller", |list| list.ask(admin::IDENTIFY, 0, identify::CONTROLLER)),
        ("identify this namespace", |list| list.ask(admin::IDENTIFY, list.id(), identify::NAMESPACE)),
        ("identify a namespace beyond the last", |list| match list.identity.namespaces.checked_add(1) {
            Some(beyond) => list.fails(admin::IDENTIFY, beyond, identify::NAMESPACE),
            None => Ok(Outcome::NotThere),
        }),
        ("identify namespace 0", |list| list.fails(admin::IDENTIFY, 0, identify::NAMESPACE)),
        ("identify a structure that there is not", |list| list.fails(admin::IDENTIFY, 0, NO_STRUCTURE)),
        ("get a log page that there is not", |list| list.fails(admin::GET_LOG_PAGE, u32::MAX, FOUR_DWORDS | RESERVED)),
        ("get a feature that there is not", |list| list.fails(admin::GET_FEATURES, 0, RESERVED)),
        ("delete a queue", |list| list.fails(admin::DELETE_SUBMISSION_QUEUE, 0, 1)),
        ("get the health log", |list| {
            list.controller.health()?;
            Ok(Outcome::Done)
        }),
        ("get the error log", |list| {
            list.controller.errors()?;
            Ok(Outcome::Done)
        }),
        ("get the state of the write cache", |list| {
            if !list.identity.volatile_cache {
                return Ok(Outcome::NotThere);
            }
            list.controller.feature(WRITE_CACHE, 0, Select::Current)?;
            Ok(Outcome::Done)
        }),
    ];

    /// Sends an admin command with a value of its tenth dword.
    fn ask(&mut self, opcode: u8, namespace: u32, tenth: u32) -> Result<Outcome, Outcome> {
        let command = AdminCommand { opcode, namespace, dwords: [tenth, 0, 0, 0, 0, 0] };
        self.controller.pass_through(command, &mut [])?;
        Ok(Outcome::Done)
    }

    /// The same, of a command that must fail or not be sent.
    fn fails(&mut self, opcode: u8, namespace: u32, tenth: u32) -> Result<Outcome, Outcome> {
        let outcome = self.ask(opcode, namespace, tenth).unwrap_or_else(|outcome| outcome);
        Ok(outcome.if_only(|outcome| *outcome != Outcome::Done, "it succeeded"))
    }
}
