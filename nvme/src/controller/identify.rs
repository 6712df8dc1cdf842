//! Who the controller is and what namespaces it has.

use core::ops::ControlFlow;

use hal::Platform;
use tock_registers::interfaces::Readable;

use super::{Controller, NAMESPACES};
use crate::error::{CommandError, Error, Step};
use crate::identity::{Identity, Namespace, Unusable, Version};
use crate::spec::command::SubmissionEntry;
use crate::spec::status::Status;
use crate::spec::{identify, registers};
use crate::transport::Transport;

/// The first version whose controllers list their active namespaces.
const LISTS_NAMESPACES: Version = Version(1 << 16 | 1 << 8);
/// The first version whose namespaces may be of another command set, and say so in a descriptor.
const DESCRIBES_NAMESPACES: Version = Version(1 << 16 | 3 << 8);
/// The first version that describes namespaces apart from their command set.
const DESCRIBES_INDEPENDENTLY: Version = Version(2 << 16);
/// Identifiers in one list.
const LISTED: usize = identify::SIZE / size_of::<u32>();

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    pub(super) fn identify_controller(&mut self) -> Result<(), Error> {
        let step = Step::IdentifyController;
        let data = self.identify(identify::CONTROLLER, 0).map_err(|error| Error::Command { step, error })?;
        let version = registers::VERSION.of(&self.window).get();
        if let Some(identity) = Identity::parse(&data, version, self.page_size.bytes(), self.config.transfer) {
            self.identity = identity;
        }
        Ok(())
    }

    /// Looks for namespaces: those that the controller lists, or, where it lists none, one identifier after the other.
    pub(super) fn scan(&mut self) -> Result<(), Error> {
        self.namespaces.clear();
        self.left_out.clear();
        let lists =
            T::LAST_IDENTIFY_STRUCTURE >= identify::ACTIVE_NAMESPACES && self.identity.version >= LISTS_NAMESPACES;
        if lists && self.scan_list()? {
            return Ok(());
        }
        let last = self.identity.namespaces.min(self.config.scan);
        if last < self.identity.namespaces {
            hal::warn!("the controller reports {} namespaces, looking at {}", self.identity.namespaces, last);
        }
        for id in 1..=last {
            if self.look_at(id)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at the namespaces that the controller lists. False if it has no list after all.
    fn scan_list(&mut self) -> Result<bool, Error> {
        let mut after = 0;
        let mut found = 0;
        loop {
            match self.admin(SubmissionEntry::identify(identify::ACTIVE_NAMESPACES, after, self.page.address())) {
                Ok(_) => {}
                Err(CommandError::Status(status)) => {
                    hal::warn!("the controller does not list its namespaces: {}", hal::log::Shown(&status));
                    // The list may not break off: then what was found so far is found once more.
                    self.namespaces.clear();
                    self.left_out.clear();
                    return Ok(false);
                }
                Err(error) => return Err(Error::Command { step: Step::IdentifyNamespace, error }),
            }
            // Each look at a namespace uses the page, so the list is copied; only as much of it as can be kept is.
            let mut list = [0u32; NAMESPACES + 1];
            for (slot, id) in list.iter_mut().enumerate() {
                *id = self.page.read(slot * size_of::<u32>());
            }
            for (slot, id) in list.into_iter().enumerate() {
                if id == 0 {
                    return Ok(true);
                }
                // A list that does not ascend would never end.
                if id <= after || id == u32::MAX {
                    hal::warn!("the list of namespaces is broken at entry {}: {} after {}", slot, id, after);
                    return Ok(true);
                }
                after = id;
                found += 1;
                if found > LISTED || self.look_at(id)?.is_break() {
                    return Ok(true);
                }
            }
        }
    }

    /// Looks at one identifier; breaks when there is no room for more namespaces.
    fn look_at(&mut self, id: u32) -> Result<ControlFlow<()>, Error> {
        let failed = |error| Error::Command { step: Step::IdentifyNamespace, error };
        let reason = match self.command_set(id).map_err(failed)? {
            0 => match self.identify(identify::NAMESPACE, id) {
                Ok(data) => match Namespace::parse(&data, id, self.identity.transfer) {
                    Ok(mut namespace) => {
                        namespace.no_volatile_cache = self.has_no_volatile_cache(id).map_err(failed)?;
                        if self.namespaces.push(namespace).is_ok() {
                            return Ok(ControlFlow::Continue(()));
                        }
                        hal::warn!("namespace {} and those after it are left out: too many", id);
                        return Ok(ControlFlow::Break(()));
                    }
                    Err(reason) => reason,
                },
                Err(CommandError::Status(status)) if status.code() == Status::INVALID_NAMESPACE.code() => {
                    Unusable::Inactive
                }
                Err(CommandError::Status(status)) => Unusable::Status(status),
                Err(error) => return Err(failed(error)),
            },
            identifier => Unusable::CommandSet { identifier },
        };
        if reason != Unusable::Inactive {
            hal::warn!("namespace {} is left out: {}", id, hal::log::Shown(&reason));
            // What is beyond the room is in the log.
            let _ = self.left_out.push((id, reason));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The command set of a namespace; 0, the NVM command set, for one that says nothing of it.
    fn command_set(&mut self, id: u32) -> Result<u8, CommandError> {
        if T::LAST_IDENTIFY_STRUCTURE < identify::DESCRIPTORS || self.identity.version < DESCRIBES_NAMESPACES {
            return Ok(0);
        }
        let data = match self.identify(identify::DESCRIPTORS, id) {
            Ok(data) => data,
            Err(CommandError::Status(_)) => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut rest = data.as_slice();
        while let [kind, length, _, _, after @ ..] = rest {
            if *kind == 0 {
                break;
            }
            if *kind == identify::COMMAND_SET {
                return Ok(after.first().copied().unwrap_or(0));
            }
            rest = after.get(usize::from(*length)..).unwrap_or(&[]);
        }
        Ok(0)
    }

    /// Whether a namespace says that it has no volatile write cache.
    fn has_no_volatile_cache(&mut self, id: u32) -> Result<bool, CommandError> {
        if T::LAST_IDENTIFY_STRUCTURE < identify::INDEPENDENT_NAMESPACE
            || self.identity.version < DESCRIBES_INDEPENDENTLY
        {
            return Ok(false);
        }
        match self.identify(identify::INDEPENDENT_NAMESPACE, id) {
            Ok(data) => {
                let features = data.get(identify::INDEPENDENT_FEATURES).copied().unwrap_or(0);
                Ok(features & identify::NO_VOLATILE_CACHE != 0)
            }
            Err(CommandError::Status(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Identify into the admin page, which is page-aligned (some firmware wants that), and out of it.
    fn identify(&mut self, structure: u32, namespace: u32) -> Result<[u8; identify::SIZE], CommandError> {
        self.admin(SubmissionEntry::identify(structure, namespace, self.page.address()))?;
        let mut data = [0; identify::SIZE];
        self.page.read_bytes(0, &mut data);
        Ok(data)
    }
}
