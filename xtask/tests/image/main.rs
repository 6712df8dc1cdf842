//! The true image, run by the tool as a person runs it: on the emulated M1 and on QEMU, with real disks and bad input.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod common;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod main_job;
