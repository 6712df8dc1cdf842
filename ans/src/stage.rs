//! The stages of a life, by the names that logs and figures use.

use core::fmt;
use core::time::Duration;

/// One stage of bringing ANS up or taking it down, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Power domains on.
    PowerDomains,
    /// The entries of the SART are read.
    Sart,
    /// The coprocessor was stopped: reset, then RUN.
    CoprocessorStart,
    /// The coprocessor was left running: it is woken.
    CoprocessorWake,
    /// RTKit's HELLO.
    RtkitHello,
    /// RTKit's endpoint map.
    RtkitEndpoints,
    /// RTKit's buffers and power states.
    RtkitPower,
    /// BOOT_STATUS gets its value.
    BootStatus,
    /// The controller is programmed and enabled.
    ControllerEnable,
    /// Identify Controller.
    Identify,
    /// The IO queue pair is created.
    IoQueues,
    /// The namespaces are listed.
    Namespaces,
    /// The queues are deleted, and the controller is shut down and disabled.
    ControllerShutdown,
    /// RTKit sleeps, its buffers are taken back, and RUN is cleared.
    CoprocessorStop,
    /// Our SART entries are gone.
    SartClose,
    /// The power domains are as they were found.
    PowerRestore,
}

impl Stage {
    /// The stage's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PowerDomains => "power-domains",
            Self::Sart => "sart",
            Self::CoprocessorStart => "coprocessor-start",
            Self::CoprocessorWake => "coprocessor-wake",
            Self::RtkitHello => "rtkit-hello",
            Self::RtkitEndpoints => "rtkit-endpoints",
            Self::RtkitPower => "rtkit-power",
            Self::BootStatus => "boot-status",
            Self::ControllerEnable => "controller-enable",
            Self::Identify => "identify",
            Self::IoQueues => "io-queues",
            Self::Namespaces => "namespaces",
            Self::ControllerShutdown => "controller-shutdown",
            Self::CoprocessorStop => "coprocessor-stop",
            Self::SartClose => "sart-close",
            Self::PowerRestore => "power-restore",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Hears of each stage that was passed.
pub trait Observer {
    /// `stage` was passed and took that long.
    fn passed(&mut self, stage: Stage, took: Duration);
}

impl<F: FnMut(Stage, Duration)> Observer for F {
    fn passed(&mut self, stage: Stage, took: Duration) {
        self(stage, took);
    }
}
