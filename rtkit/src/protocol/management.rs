//! Endpoint 0: versions, the endpoint map, power.

use super::endpoints::MapPage;
use super::{Action, Actions, Phase, Protocol, ProtocolError, power_message, version};
use crate::spec::management::{
    ENDPOINT_MAP, HELLO, POWER_STATE, SET_AP_POWER, SET_IOP_POWER, SET_IOP_POWER_ACKNOWLEDGE,
};
use crate::{Endpoint, Message, PowerState};

/// Pages that name every possible endpoint: 8 of 32.
const MOST_PAGES: usize = 8;

impl Protocol {
    pub(super) fn handle_management(&mut self, message: Message, actions: &mut Actions) -> Result<(), ProtocolError> {
        if !self.phase.is_session() {
            actions.push(Action::Unknown(message));
            return Ok(());
        }
        let state = PowerState(POWER_STATE.get_u16(message.payload));
        match message.kind() {
            HELLO => self.hello(message, actions),
            ENDPOINT_MAP => self.map_page(message, actions),
            SET_IOP_POWER_ACKNOWLEDGE => self.iop_acknowledged(message, state, actions),
            SET_AP_POWER => self.ap_acknowledged(message, state, actions),
            _ => {
                actions.push(Action::Unknown(message));
                Ok(())
            }
        }
    }

    fn hello(&mut self, message: Message, actions: &mut Actions) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Hello => {
                let version = version::choose(message, &self.versions).map_err(ProtocolError::Version)?;
                hal::info!("rtkit: coprocessor says hello, protocol version {}", version);
                actions.push(Action::Send(version::reply(version)));
                self.phase = Phase::Map;
                Ok(())
            }
            // The start of the CPU and the power request may each have queued one; the first was answered.
            Phase::Map if self.pages == 0 => {
                actions.push(Action::Unknown(message));
                Ok(())
            }
            phase => Err(ProtocolError::StartedOver(phase)),
        }
    }

    fn map_page(&mut self, message: Message, actions: &mut Actions) -> Result<(), ProtocolError> {
        // A map that comes again while the coprocessor starts is answered again; that starts nothing twice.
        if !matches!(self.phase, Phase::Map | Phase::IopPower | Phase::ApPower) {
            actions.push(Action::Unknown(message));
            return Ok(());
        }
        self.pages += 1;
        if self.pages > MOST_PAGES {
            return Err(ProtocolError::EndlessMap { pages: self.pages });
        }
        let page = MapPage::decode(message.payload);
        self.present.insert_page(page);
        actions.push(Action::Send(page.reply()));
        if page.is_last() {
            self.pages = 0;
            self.start_system_endpoints(actions);
            if self.phase == Phase::Map {
                self.phase = Phase::IopPower;
                self.raise_ap_power(actions);
            }
        }
        Ok(())
    }

    fn start_system_endpoints(&mut self, actions: &mut Actions) {
        for endpoint in Endpoint::STARTED_AT_BOOT {
            if self.present.contains(endpoint) && self.started.insert(endpoint) {
                hal::debug!("rtkit: starting {}", hal::log::Shown(&endpoint));
                actions.push(Action::Send(Message::start(endpoint.0)));
            }
        }
    }

    fn iop_acknowledged(
        &mut self,
        message: Message,
        state: PowerState,
        actions: &mut Actions,
    ) -> Result<(), ProtocolError> {
        match self.phase {
            // A session starts with HELLO: this belongs to the one before.
            Phase::Hello => actions.push(Action::Unknown(message)),
            Phase::IopStop(target) if state == target => {
                hal::info!("rtkit: coprocessor is in power state {}", hal::log::Shown(&state));
                self.phase = Phase::Down(target);
            }
            // An "on" that was still under way when the stop was asked for.
            Phase::IopStop(_) if state.is_on() => actions.push(Action::Unknown(message)),
            Phase::IopStop(requested) => return Err(ProtocolError::Power { requested, acknowledged: state }),
            Phase::Running if !state.is_on() => actions.push(Action::Unknown(message)),
            _ => {
                self.iop_power = Some(state);
                self.raise_ap_power(actions);
            }
        }
        Ok(())
    }

    /// Once the endpoints are started and the coprocessor is on, in whichever order, the host says that it is on too.
    fn raise_ap_power(&mut self, actions: &mut Actions) {
        if self.phase == Phase::IopPower && self.iop_power.is_some_and(PowerState::is_on) {
            hal::debug!("rtkit: coprocessor is on");
            self.phase = Phase::ApPower;
            actions.push(Action::Send(power_message(SET_AP_POWER, PowerState::ON)));
        }
    }

    fn ap_acknowledged(
        &mut self,
        message: Message,
        state: PowerState,
        actions: &mut Actions,
    ) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::ApPower if state == PowerState::ON => self.phase = Phase::Running,
            Phase::ApPower => {
                return Err(ProtocolError::Power { requested: PowerState::ON, acknowledged: state });
            }
            Phase::ApQuiesce(target) if state == PowerState::QUIESCED => {
                self.phase = Phase::IopStop(target);
                actions.push(Action::Send(power_message(SET_IOP_POWER, target)));
            }
            // An "on" that was still under way when the stop was asked for.
            Phase::ApQuiesce(_) if state == PowerState::ON => actions.push(Action::Unknown(message)),
            Phase::ApQuiesce(_) => {
                return Err(ProtocolError::Power { requested: PowerState::QUIESCED, acknowledged: state });
            }
            _ => actions.push(Action::Unknown(message)),
        }
        Ok(())
    }
}
