//! Buses that do not behave.

