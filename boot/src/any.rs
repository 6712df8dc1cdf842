//! A controller whose way of being spoken to does not matter: what works with it exists once in the image, and not once for
//! each transport.

use core::time::Duration;

use hal::Platform;
use heapless::Vec;
use nvme::controller::{CacheError, ERRORS};
use nvme::{
    Accept, Access, AdminCommand, BlockError, CacheMode, CommandError, Completion, Controller, Counters, DoorbellState,
    Error, ErrorEntry, Event, FlushPolicy, FlushStatistics, Health, Identity, Namespace, PassThroughError, Refused,
    Request, Select, ShadowDoorbells, SubmitError, Ticket, Transport, Unusable, WriteCache,
};

use crate::load::{self, Report};
use crate::reason::Reason;

/// Declares calls that are the controller's own, and hands them on to it.
macro_rules! handed_on {
    ($($(#[$meta:meta])* fn $name:ident(&$($mutable:ident)? ; $($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        /// A controller behind any transport. The calls are those of [`Controller`], with its errors.
        pub trait AnyController<P: Platform> {
            $($(#[$meta])* fn $name(&$($mutable)? self, $($argument: $kind),*) -> $result;)*

            /// See [`load::random_reads`].
            ///
            /// # Errors
            /// As there.
            fn random_reads(
                &mut self,
                namespace: u32,
                count_and_depth: (u64, u64),
                mark: &mut dyn FnMut(&'static str),
            ) -> Result<Report, Reason>;

            /// See [`Controller::namespace`].
            fn namespace(&self, id: u32) -> Option<&Namespace> {
                self.namespaces().iter().find(|namespace| namespace.id == id)
            }
        }

        impl<P: Platform, T: Transport<P>> AnyController<P> for Controller<P, T> {
            $(fn $name(&$($mutable)? self, $($argument: $kind),*) -> $result {
                Controller::$name(self, $($argument),*)
            })*

            /// The one call that is made for each transport, because it is measured to the instruction.
            fn random_reads(
                &mut self,
                namespace: u32,
                count_and_depth: (u64, u64),
                mark: &mut dyn FnMut(&'static str),
            ) -> Result<Report, Reason> {
                load::random_reads(self, namespace, count_and_depth, mark)
            }
        }
    };
}

handed_on! {
    /// See [`Controller::identity`].
    fn identity(&;) -> &Identity;
    /// See [`Controller::namespaces`].
    fn namespaces(&;) -> &[Namespace];
    /// See [`Controller::left_out`].
    fn left_out(&;) -> &[(u32, Unusable)];
    /// See [`Controller::set_access`].
    fn set_access(&mut; id: u32, access: Access) -> Result<(), SubmitError>;
    /// See [`Controller::depth`].
    fn depth(&;) -> u32;
    /// See [`Controller::queue_pairs`].
    fn queue_pairs(&;) -> u16;
    /// See [`Controller::page_size`].
    fn page_size(&;) -> usize;
    /// See [`Controller::pool`].
    fn pool(&;) -> &P::Pool;
    /// See [`Controller::clock`].
    fn clock(&;) -> &P::Clock;
    /// See [`Controller::doorbells`].
    fn doorbells(&;) -> DoorbellState;
    /// See [`Controller::set_shadow_doorbells`].
    fn set_shadow_doorbells(&mut; wanted: ShadowDoorbells) -> Result<(), Error>;
    /// See [`Controller::set_batching`].
    fn set_batching(&mut; on: bool) -> ();
    /// See [`Controller::health`].
    fn health(&mut;) -> Result<Health, CommandError>;
    /// See [`Controller::errors`].
    fn errors(&mut;) -> Result<Vec<ErrorEntry, ERRORS>, CommandError>;
    /// See [`Controller::feature`].
    fn feature(&mut; feature: u8, namespace: u32, select: Select) -> Result<u32, CommandError>;
    /// See [`Controller::next_event`].
    fn next_event(&mut;) -> Result<Option<Event>, CommandError>;
    /// See [`Controller::pass_through`].
    fn pass_through(&mut; command: AdminCommand, data: &mut [u8]) -> Result<u32, PassThroughError>;
    /// See [`Controller::read`].
    fn read(&mut; namespace: u32, lba: u64, bytes: &mut [u8]) -> Result<(), BlockError>;
    /// See [`Controller::write`].
    fn write(&mut; namespace: u32, lba: u64, bytes: &[u8]) -> Result<(), BlockError>;
    /// See [`Controller::flush`].
    fn flush(&mut; namespace: u32) -> Result<(), BlockError>;
    /// See [`Controller::write_durable`].
    fn write_durable(&mut; namespace: u32, lba: u64, bytes: &[u8]) -> Result<(), BlockError>;
    /// See [`Controller::sync`].
    fn sync(&mut; namespace: u32) -> Result<(), BlockError>;
    /// See [`Controller::quiesce`].
    fn quiesce(&mut;) -> Result<(), BlockError>;
    /// See [`Controller::write_cache`].
    fn write_cache(&;) -> WriteCache;
    /// See [`Controller::cache_mode`].
    fn cache_mode(&; namespace: u32) -> Result<CacheMode, SubmitError>;
    /// See [`Controller::set_write_cache`].
    fn set_write_cache(&mut; on: bool, save: bool) -> Result<(), CacheError>;
    /// See [`Controller::flush_policy`].
    fn flush_policy(&; namespace: u32) -> Result<FlushPolicy, SubmitError>;
    /// See [`Controller::flush_statistics`].
    fn flush_statistics(&; namespace: u32) -> Result<FlushStatistics, SubmitError>;
    /// See [`Controller::set_flush_policy`].
    fn set_flush_policy(&mut; namespace: u32, policy: FlushPolicy) -> Result<(), BlockError>;
    /// See [`Controller::defer_flushes`].
    fn defer_flushes(&mut; namespace: u32, max_delay: Duration, accepted: Accept) -> Result<(), BlockError>;
    /// See [`Controller::counters`].
    fn counters(&;) -> &Counters;
    /// See [`Controller::write_zeroes`].
    fn write_zeroes(&mut; namespace: u32, lba: u64, count: u64) -> Result<(), BlockError>;
    /// See [`Controller::discard`].
    fn discard(&mut; namespace: u32, lba: u64, count: u64) -> Result<(), BlockError>;
    /// See [`Controller::submit_on`].
    fn submit_on(&mut; index: u16, request: Request<P::Pool>) -> Result<Ticket, Refused<P::Pool>>;
    /// See [`Controller::poll`].
    fn poll(&mut;) -> Option<Completion<P::Pool>>;
    /// See [`Controller::wait`].
    fn wait(&mut;) -> Option<Completion<P::Pool>>;
}
