//! ASC mailbox and RTKit protocol, host side.
//!
//! An Apple coprocessor that runs RTKit says HELLO, lists its endpoints, asks for memory to log and to report in, and is
//! then switched on. [`Coprocessor`] does all that over a mailbox, for an owner that lends memory ([`Client`]) and holds
//! the coprocessor's power, reset and CPU control. This crate knows nothing of what the coprocessor is good for.
//!
//! ```
//! use hal::Platform;
//! use rtkit::{Client, Config, Coprocessor, Error};
//!
//! /// Its power is on, its reset released, and its CPU was just started.
//! fn up_and_down<P: Platform>(
//!     mailbox: P::Window,
//!     pool: P::Pool,
//!     clock: &P::Clock,
//!     client: &mut impl Client<P::Pool>,
//! ) -> Result<(), Error> {
//!     let mut coprocessor = Coprocessor::<P>::new(mailbox, pool, Config::default());
//!     coprocessor.boot(clock, client)?;
//!     coprocessor.poll(clock, client)?;
//!     coprocessor.sleep(clock, client)
//! }
//! ```
//!
//! Read from the bottom up: [`spec`] has the facts, [`mailbox`] moves messages, [`protocol`] decides what each one leads to
//! without touching anything, and [`coprocessor`] joins them with memory and time.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod buffers;
pub mod client;
pub mod config;
pub mod coprocessor;
pub mod crash;
pub mod error;
mod field;
pub mod mailbox;
pub mod memory;
pub mod message;
pub mod protocol;
pub mod spec;
pub mod syslog;

pub use client::{Client, GrantError};
pub use config::Config;
pub use coprocessor::Coprocessor;
pub use crash::{Crash, CrashReport};
pub use error::{Error, Stage};
pub use field::Field;
pub use mailbox::{Mailbox, MailboxError};
pub use message::{Endpoint, Message, PowerState};
