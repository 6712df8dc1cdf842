//! Memory lent to the coprocessor: opened in the SART before it is told, closed there before it is freed.

use hal::log::Shown;
use hal::{Clock, DmaPool, DmaRegion, Mmio};
use rtkit::{Client, Endpoint, GrantError};

use crate::progress::Progress;
use crate::sart::{Range, Sart};
use crate::stage::{Observer, Stage};

/// Alignment of lent memory: the page of the CPU and of m1n1's buffers, 16 KiB.
const ALIGNMENT: usize = 0x4000;

/// Who lends, for one call into RTKit.
pub(crate) struct Lender<'a, 'o, W: Mmio, D: DmaPool, C: Clock, O: Observer> {
    pub(crate) sart: &'a mut Sart<W>,
    pub(crate) pool: &'a D,
    pub(crate) progress: &'a mut Progress<'o, C, O>,
}

impl<W: Mmio, D: DmaPool, C: Clock, O: Observer> Client<D> for Lender<'_, '_, W, D, C, O> {
    fn grant(&mut self, endpoint: Endpoint, size: usize) -> Result<DmaRegion<D>, GrantError> {
        let region = DmaRegion::new(self.pool, size, ALIGNMENT)?;
        // Before the reply: firmware writes to the buffer as soon as it knows of it, and a refused write crashes it.
        match self.sart.add(window(&region)) {
            Ok(()) => Ok(region),
            Err(error) => {
                hal::error!("no memory for {}: {}", Shown(&endpoint), Shown(&error));
                Err(GrantError::Filter(error.reason()))
            }
        }
    }

    fn revoke(&mut self, endpoint: Endpoint, region: DmaRegion<D>) {
        match self.sart.remove(window(&region)) {
            Ok(()) => drop(region),
            Err(error) => {
                // The coprocessor could still reach it: better lost than used by two.
                hal::error!("memory of {} stays out of use: {}", Shown(&endpoint), Shown(&error));
                region.quarantine();
            }
        }
    }

    fn stage(&mut self, stage: rtkit::Stage) {
        match stage {
            rtkit::Stage::Hello => self.progress.enter(Stage::RtkitHello),
            rtkit::Stage::Endpoints => self.progress.enter(Stage::RtkitEndpoints),
            rtkit::Stage::Power => self.progress.enter(Stage::RtkitPower),
            // Parts of stages of ours.
            rtkit::Stage::Running | rtkit::Stage::Quiesce | rtkit::Stage::Sleep => {}
        }
    }
}

/// The SART window of a region: whole pages, which the region owns.
fn window<D: DmaPool>(region: &DmaRegion<D>) -> Range {
    Range { address: region.address(), size: region.size().next_multiple_of(hal::DEVICE_PAGE) as u64 }
}
