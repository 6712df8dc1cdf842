//! The true image, run by the tool as a person runs it: on the emulated M1 and on QEMU, with real disks and bad input.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod common;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod main_job;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod virt_arguments;
#[cfg(test)]
mod virt_disks;
#[cfg(test)]
mod virt_doorbells;
#[cfg(test)]
mod virt_durability;
#[cfg(test)]
mod virt_errors;
#[cfg(test)]
mod virt_limits;
#[cfg(test)]
mod virt_topology;
#[cfg(test)]
mod virt_writes;
