//! Flushes that were answered before they were performed: performed in time whatever the monitor does meanwhile.
//!
//! Whoever defers flushes has to poll every eighth of the delay. The waits for a command line and for the device do. What does not
//! is printing on a slow console, and work on another controller; so what would become due meanwhile is performed before.

use core::time::Duration;

use hal::Platform;
use nvme::FlushPolicy;

use super::Monitor;
use crate::command::Command;
use crate::reason::Reason;
use crate::storage::Storage;

/// A line of up to 170 characters at 115200 baud, ten bits each.
pub(super) const LINE: Duration = Duration::from_millis(15);
/// A screen of up to 1400 characters.
const SCREEN: Duration = Duration::from_millis(125);

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    /// Performs what was deferred on a controller that will not be polled in time while the monitor prints for so long, or works
    /// on another one.
    ///
    /// # Errors
    /// That it failed. It stays to be done, and flushes are not deferred any more.
    pub(super) fn keep_promises(&mut self, printing: Duration) -> Result<(), Reason> {
        for index in 0..self.storage.count() {
            let here = index == self.selected.controller;
            let Some(controller) = self.storage.controller(index) else { continue };
            let delays =
                controller.namespaces().iter().filter_map(|namespace| match controller.flush_policy(namespace.id) {
                    Ok(FlushPolicy::Deferred { max_delay }) => Some(max_delay),
                    _ => None,
                });
            let late = delays.min().is_some_and(|delay| !here || delay / 8 < printing);
            if late {
                controller.quiesce().map_err(Reason::new)?;
            }
        }
        Ok(())
    }
}

/// Looks after every controller once, so that what was deferred is performed in time. No command of the monitor's is in flight.
pub(super) fn poll<P: Platform<Clock: Clone>>(storage: &mut dyn Storage<Platform = P>) {
    for index in 0..storage.count() {
        if let Some(controller) = storage.controller(index) {
            // Nothing was sent that someone waits for.
            drop(controller.poll());
        }
    }
}

/// The longest time for which a command prints without a wait for the device between.
pub(super) const fn printing(command: Command) -> Duration {
    match command {
        // As much as there is to be shown.
        Command::Help
        | Command::Namespaces
        | Command::Errors
        | Command::Events
        | Command::Gpt
        | Command::Read(_)
        | Command::Log => Duration::MAX,
        Command::Controllers | Command::Info | Command::Smart | Command::Features | Command::Stats => SCREEN,
        Command::Select { .. }
        | Command::Sha256(_)
        | Command::Flush
        | Command::Sync
        | Command::Write(_)
        | Command::Cache(_)
        | Command::Policy(_)
        | Command::Trim(_)
        | Command::Zero(_)
        | Command::Operations { .. }
        | Command::Doorbells(_)
        | Command::Shutdown
        | Command::RandomRead { .. }
        | Command::Soak { .. } => LINE,
    }
}
