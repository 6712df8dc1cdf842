//! Requests for shared memory.

use core::fmt;

use crate::spec::{buffer, message, oslog};
use crate::{Endpoint, Message};

/// The coprocessor asks for memory on an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferRequest {
    /// The endpoint that the memory is for, which also decides the layout of the reply.
    pub endpoint: Endpoint,
    /// Bytes wanted.
    pub size: usize,
    /// Not zero: the coprocessor names memory of its own, and no reply is due.
    pub address: u64,
}

/// Why a request for memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferError {
    /// It asks for no bytes.
    Empty,
    /// It asks for more than the configuration allows.
    TooLarge {
        /// Bytes wanted.
        size: usize,
        /// Bytes allowed.
        allowed: usize,
    },
    /// The endpoint has asked before.
    Repeated,
    /// The memory lies where the reply's address field does not reach, or off a page boundary.
    Address {
        /// The memory's device address.
        address: u64,
    },
}

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("asked for a buffer of 0 bytes"),
            Self::TooLarge { size, allowed } => write!(f, "asked for a buffer of {size} bytes, {allowed} are allowed"),
            Self::Repeated => f.write_str("asked for a second buffer"),
            Self::Address { address } => write!(f, "cannot be told of a buffer at {address:#x}"),
        }
    }
}

impl BufferRequest {
    /// Reads a request, if the message is one.
    pub(super) fn decode(message: Message) -> Option<Self> {
        let payload = message.payload;
        let endpoint = Endpoint(message.endpoint);
        match endpoint {
            Endpoint::CRASHLOG | Endpoint::SYSLOG | Endpoint::IOREPORT if message.kind() == buffer::REQUEST => {
                Some(Self {
                    endpoint,
                    size: buffer::SIZE.get_u32(payload) as usize * buffer::SIZE_UNIT as usize,
                    address: buffer::ADDRESS.get(payload),
                })
            }
            Endpoint::OSLOG if oslog::TYPE.get(payload) == oslog::REQUEST => Some(Self {
                endpoint,
                size: oslog::SIZE.get_u32(payload) as usize,
                address: oslog::ADDRESS.get(payload) * oslog::ADDRESS_UNIT,
            }),
            _ => None,
        }
    }

    /// The reply that names the memory: the same type and size, and the device address.
    ///
    /// # Errors
    /// [`BufferError::Address`] when the address does not fit: it is never cut.
    pub fn reply(&self, address: u64) -> Result<Message, BufferError> {
        let size = self.size as u64;
        let payload = match self.endpoint {
            Endpoint::OSLOG if address.is_multiple_of(oslog::ADDRESS_UNIT) => oslog_payload(size, address),
            Endpoint::OSLOG => None,
            _ if address.is_multiple_of(buffer::SIZE_UNIT.into()) => common_payload(size, address),
            _ => None,
        };
        let payload = payload.ok_or(BufferError::Address { address })?;
        Ok(Message { endpoint: self.endpoint.0, payload })
    }
}

fn common_payload(size: u64, address: u64) -> Option<u64> {
    Some(
        message::TYPE.put(buffer::REQUEST)?
            | buffer::SIZE.put(size / u64::from(buffer::SIZE_UNIT))?
            | buffer::ADDRESS_SENT.put(address)?,
    )
}

fn oslog_payload(size: u64, address: u64) -> Option<u64> {
    Some(
        oslog::TYPE.put(oslog::REQUEST)?
            | oslog::SIZE.put(size)?
            | oslog::ADDRESS.put(address / oslog::ADDRESS_UNIT)?,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: BufferRequest = BufferRequest { endpoint: Endpoint::CRASHLOG, size: 0x4000, address: 0 };

    #[test]
    fn high_addresses_survive_the_reply_whole() {
        for endpoint in [Endpoint::CRASHLOG, Endpoint::SYSLOG, Endpoint::IOREPORT, Endpoint::OSLOG] {
            for address in [0x8_0000_0000, 0xf_ffff_c000, 0x3ff_ffff_c000, 0x100_0001_0000] {
                let request = BufferRequest { endpoint, ..REQUEST };
                let told = request.reply(address).map(BufferRequest::decode);
                assert_eq!(told, Ok(Some(BufferRequest { address, ..request })));
            }
        }
    }

    #[test]
    fn an_address_that_does_not_fit_is_an_error_and_never_cut() {
        let oslog = BufferRequest { endpoint: Endpoint::OSLOG, ..REQUEST };
        for (request, address) in
            [(REQUEST, 1 << 42), (REQUEST, 1 << 63), (REQUEST, 0x8_0000_0800), (oslog, 1 << 48), (oslog, 0x8_0000_0800)]
        {
            assert_eq!(request.reply(address), Err(BufferError::Address { address }));
        }
    }

    #[test]
    fn the_reply_of_a_recorded_boot_comes_out_bit_for_bit() {
        // U-Boot's answer on crashlog in the project's recorded traffic.
        let asked = Message { endpoint: 1, payload: 0x0010_4000_0000_0000 };
        let request = BufferRequest::decode(asked).unwrap();
        assert_eq!(request.size, 0x4000);
        assert_eq!(request.reply(0x8_3bf1_4000), Ok(Message { endpoint: 1, payload: 0x0010_4008_3bf1_4000 }));
    }

    #[test]
    fn an_oslog_reply_counts_bytes_and_pages() {
        let request = BufferRequest::decode(Message { endpoint: 8, payload: 0x0100_4000_0000_0000 }).unwrap();
        assert_eq!(request.size, 0x400);
        assert_eq!(request.reply(0x8_0000_4000), Ok(Message { endpoint: 8, payload: 0x0100_4000_0080_0004 }));
    }
}
