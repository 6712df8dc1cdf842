//! How doorbells are rung, and how they shall be.

use hal::Platform;
use nvme::{DoorbellState, ShadowDoorbells};

use super::Monitor;
use crate::command::Doorbells;
use crate::reason::Reason;

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn doorbells(&mut self, wish: Doorbells) -> Result<(), Reason> {
        let wanted = match wish {
            Doorbells::Status => return self.doorbell_state(),
            Doorbells::On => ShadowDoorbells::BeforeQueues,
            Doorbells::Late => ShadowDoorbells::AfterQueues,
            Doorbells::Off => ShadowDoorbells::Off,
        };
        let controller = self.controller()?;
        if !controller.doorbells().supported {
            // What is off already is no failure.
            return if wanted == ShadowDoorbells::Off {
                self.doorbell_state()
            } else {
                Err(Reason::new("the controller does not have shadow doorbells"))
            };
        }
        controller.set_shadow_doorbells(wanted).map_err(Reason::new)?;
        if wanted != ShadowDoorbells::Off && !controller.doorbells().shadowed {
            return Err(Reason::new("the controller refuses doorbell buffers: doorbells are rung by register"));
        }
        self.doorbell_state()
    }

    fn doorbell_state(&mut self) -> Result<(), Reason> {
        let DoorbellState { supported, wanted, shadowed, counters } = self.controller()?.doorbells();
        if !supported {
            return writeln!(self.out, "shadow doorbells: the controller does not have them").map_err(Reason::new);
        }
        let state = match (shadowed, wanted) {
            (true, ShadowDoorbells::AfterQueues) => "on, given after the queues were made",
            (true, _) => "on, given before the queues were made",
            (false, ShadowDoorbells::Off) => "off",
            (false, _) => "wanted, but the controller refuses them",
        };
        writeln!(
            self.out,
            "shadow doorbells: {state}; register writes: {} tails, {} heads; {} spared, {} rung again",
            counters.tail_writes, counters.head_writes, counters.spared, counters.rung_again
        )
        .map_err(Reason::new)
    }
}
