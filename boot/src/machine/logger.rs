//! The log as lines of text: `[    0.001234] text`, the time in seconds since entry.

use boot::tail;
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::console;

struct Lines;

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mark = match record.level() {
            Level::Error => "error: ",
            Level::Warn => "warning: ",
            _ => "",
        };
        console::line(format_args!("{mark}{}", record.args()));
        // What rtkit says is what the coprocessor said: the command `log` shows it again.
        if record.target().starts_with("rtkit") {
            tail::keep(format_args!("{mark}{}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Sends log lines to the console.
pub(crate) fn install() {
    // Refused only by a second call; there is none.
    let _ = log::set_logger(&Lines);
    log::set_max_level(LevelFilter::Info);
}
