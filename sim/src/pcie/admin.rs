//! Admin commands.

use super::command::Command;
use super::queue::Completion;
use super::{Device, Fault, identify};
use crate::context::Context;
use crate::facts::command::{self as facts, *};
use crate::facts::identify::{BYTES, CNS_ACTIVE, CNS_CONTROLLER, CNS_DESCRIPTORS, CNS_INDEPENDENT, CNS_NAMESPACE};
use crate::nvme::bits;
use crate::nvme::entry::Submission;
use crate::nvme::status::Status;

/// The version that brought Identify with CNS 2, and the one that brought CNS 3.
const VERSION_ACTIVE: u32 = 0x0001_0100;
const VERSION_DESCRIPTORS: u32 = 0x0001_0300;
/// The version that brought CNS 8.
const VERSION_INDEPENDENT: u32 = 0x0002_0000;
/// The first identifier that is none of a namespace that can be listed behind.
const NSID_RESERVED: u32 = 0xffff_fffe;

/// The name under which a command is counted.
pub(super) fn name(opcode: u8) -> &'static str {
    match opcode {
        DELETE_SQ => "delete-submission-queue",
        CREATE_SQ => "create-submission-queue",
        GET_LOG_PAGE => "get-log-page",
        DELETE_CQ => "delete-completion-queue",
        CREATE_CQ => "create-completion-queue",
        IDENTIFY => "identify",
        ABORT => "abort",
        SET_FEATURES => "set-features",
        GET_FEATURES => "get-features",
        ASYNC_EVENT => "asynchronous-event-request",
        DOORBELL_BUFFER => "doorbell-buffer-config",
        _ => "admin-unknown",
    }
}

impl Device {
    pub(super) fn supports_admin(&self, opcode: u8) -> bool {
        match opcode {
            DELETE_SQ | CREATE_SQ | GET_LOG_PAGE | DELETE_CQ | CREATE_CQ | IDENTIFY | ABORT | SET_FEATURES
            | GET_FEATURES | ASYNC_EVENT => true,
            DOORBELL_BUFFER => self.config.shadow_doorbells,
            _ => false,
        }
    }

    pub(super) fn planned_admin_failure(&self, opcode: u8) -> Option<Status> {
        self.config.faults.iter().find_map(|fault| match fault {
            Fault::AdminError { opcode: planned, half_word } if *planned == opcode => {
                Some(Status::from_bits(*half_word))
            }
            _ => None,
        })
    }

    /// How many bytes the command moves, and whether to the host.
    pub(super) fn admin_length(
        &self,
        ctx: &mut Context<'_>,
        place: &str,
        entry: &Submission,
    ) -> Result<(u64, bool), Status> {
        if let Some(status) = self.planned_admin_failure(entry.opcode) {
            return Err(status);
        }
        if !self.supports_admin(entry.opcode) {
            ctx.note("unsupported-command", place, format!("admin opcode {:#04x}", entry.opcode));
            return Err(Status::INVALID_OPCODE);
        }
        if entry.opcode == ABORT && self.aborts_waiting() > u64::from(self.config.abort_limit) {
            return Err(Status::ABORT_LIMIT);
        }
        Ok(match entry.opcode {
            IDENTIFY => (BYTES as u64, true),
            GET_LOG_PAGE => (Self::log_length(entry), true),
            _ => (0, false),
        })
    }

    /// Abort commands that are outstanding.
    fn aborts_waiting(&self) -> u64 {
        let abort = |command: &&Command| command.queue == 0 && command.submission.opcode == ABORT;
        self.commands.values().filter(abort).count() as u64
    }

    /// Runs it; the value for the completion's dword 0.
    pub(super) fn run_admin(&mut self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<u32, Status> {
        let entry = &command.submission;
        match entry.opcode {
            DELETE_SQ => self.delete_submissions(ctx, entry),
            CREATE_SQ => self.create_submissions(ctx, entry),
            DELETE_CQ => self.delete_completions(entry),
            CREATE_CQ => self.create_completions(ctx, entry),
            GET_LOG_PAGE => {
                let page = self.log_page(ctx, entry)?;
                self.give_data(ctx, place, command, &page).map(|()| 0)
            }
            IDENTIFY => {
                let page = self.identify(ctx, place, entry)?;
                self.give_data(ctx, place, command, &page).map(|()| 0)
            }
            ABORT => Ok(self.abort(ctx, entry)),
            SET_FEATURES => self.set_features(ctx, entry),
            GET_FEATURES => self.get_features(entry),
            DOORBELL_BUFFER => self.bind(ctx, place, entry),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn identify(&self, ctx: &mut Context<'_>, place: &str, entry: &Submission) -> Result<Vec<u8>, Status> {
        let cns = entry.dwords[0] & 0xff;
        let listed = self.config.version >= VERSION_ACTIVE && self.config.active_list;
        match cns {
            CNS_NAMESPACE if (1..=self.last_namespace()).contains(&entry.namespace) => {
                Ok(identify::namespace(self.namespaces.get(&entry.namespace)))
            }
            CNS_NAMESPACE => Err(Status::INVALID_NAMESPACE),
            CNS_CONTROLLER => Ok(identify::controller(&self.config, self.last_namespace())),
            CNS_ACTIVE if listed && entry.namespace >= NSID_RESERVED => Err(Status::INVALID_NAMESPACE),
            CNS_ACTIVE if listed => {
                let mut page = vec![0; BYTES];
                let later = self.namespaces.keys().filter(|id| **id > entry.namespace);
                page.chunks_mut(4).zip(later).for_each(|(slot, id)| bits::put(slot, 0, &id.to_le_bytes()));
                Ok(page)
            }
            CNS_DESCRIPTORS if self.config.version >= VERSION_DESCRIPTORS => {
                let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
                Ok(identify::descriptors(namespace))
            }
            CNS_INDEPENDENT if self.config.version >= VERSION_INDEPENDENT => {
                let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
                Ok(identify::independent(namespace))
            }
            other => {
                ctx.note("identify-cns", place, format!("Identify with CNS {other:#x}, which this controller lacks"));
                Err(Status::INVALID_FIELD)
            }
        }
    }

    /// NN.
    fn last_namespace(&self) -> u32 {
        self.namespaces.keys().next_back().copied().unwrap_or(0)
    }

    /// Abort: the command completes as aborted before the answer says so; bit 0 of the answer is set when there was none.
    fn abort(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> u32 {
        let queue = bits::low16(facts::ABORT_SQID.of32(entry.dwords[0]).into());
        let id = bits::low16(facts::ABORT_CID.of32(entry.dwords[0]).into());
        if self.has(&Fault::AbortFails) {
            return 1;
        }
        let matches = |command: &Command| command.queue == queue && command.submission.id == id;
        let found = self.commands.iter().find(|(_, command)| matches(command)).map(|(number, _)| *number);
        if let Some(number) = found {
            self.commands.remove(&number);
            self.due.remove(&number);
        } else if queue != 0 || !self.events.abort(id) {
            return 1;
        }
        self.complete(ctx, Completion { queue, id, status: Status::ABORTED, result: 0 });
        0
    }
}
