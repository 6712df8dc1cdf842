//! The emulator, tried with images of a few instructions each.

#[cfg(test)]
mod command;
#[cfg(test)]
mod cpu;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod interrupts;
#[cfg(test)]
mod program;
