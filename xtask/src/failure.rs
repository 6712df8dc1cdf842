//! Why a command ended early, with the exit code that scripts rely on.

use std::fmt;
use std::process::ExitCode;

/// A command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

/// The outcome of a command: the exit code to pass on, or why it ended early.
pub(crate) type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// A check or a build failed: exit code 1.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// The arguments are bad or a tool is missing: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// The image crashed or ran out of time: exit code 3.
    pub(crate) fn crashed(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
