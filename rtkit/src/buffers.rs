//! The memory that is lent to a coprocessor.

use hal::{DmaPool, DmaRegion};

use crate::{Client, Endpoint};

/// Lent memory. What is left when this is dropped is quarantined: a coprocessor that was not put to sleep may reach it.
pub(crate) struct Buffers<P: DmaPool>(heapless::Vec<(Endpoint, DmaRegion<P>), 4>);

impl<P: DmaPool> Buffers<P> {
    pub(crate) const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// Keeps a region; gives it back if there is no place, which means that an endpoint asked twice.
    pub(crate) fn insert(&mut self, endpoint: Endpoint, region: DmaRegion<P>) -> Result<(), DmaRegion<P>> {
        self.0.push((endpoint, region)).map_err(|(_, region)| region)
    }

    /// The memory lent on an endpoint.
    pub(crate) fn get(&self, endpoint: Endpoint) -> Option<&DmaRegion<P>> {
        self.0.iter().find(|(owner, _)| *owner == endpoint).map(|(_, region)| region)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives everything back, the last first: the coprocessor does not touch it any more.
    pub(crate) fn revoke(&mut self, client: &mut impl Client<P>) {
        while let Some((endpoint, region)) = self.0.pop() {
            client.revoke(endpoint, region);
        }
    }

    /// Gives everything up: the coprocessor may still touch it.
    pub(crate) fn abandon(&mut self, client: &mut impl Client<P>) {
        while let Some((endpoint, region)) = self.0.pop() {
            client.abandon(endpoint, region);
        }
    }
}

impl<P: DmaPool> Drop for Buffers<P> {
    fn drop(&mut self) {
        while let Some((_, region)) = self.0.pop() {
            region.quarantine();
        }
    }
}
