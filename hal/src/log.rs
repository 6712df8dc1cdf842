//! Log macros with three ends: text (feature `log`), `defmt` (feature `defmt`), or none.
//!
//! Messages use what both formatters know: `{}`, `{:?}`, `{:x}`, `{:#x}`, `{:#010x}`. A value that only has `Display` goes
//! through [`Shown`].

#[cfg(all(feature = "log", feature = "defmt"))]
compile_error!("the features `log` and `defmt` choose one end of the log macros each: take one of them");

#[doc(hidden)]
#[cfg(feature = "log")]
pub use log as text;

#[doc(hidden)]
#[cfg(feature = "defmt")]
pub use defmt as frames;

/// A value shown through its `Display`, whichever end the log has.
pub struct Shown<'a, T: core::fmt::Display + ?Sized>(pub &'a T);

impl<T: core::fmt::Display + ?Sized> core::fmt::Display for Shown<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl<T: core::fmt::Display + ?Sized> defmt::Format for Shown<'_, T> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::Display2Format(self.0).format(f);
    }
}

macro_rules! level {
    ($dollar:tt, $name:ident, $what:literal) => {
        #[doc = $what]
        #[cfg(feature = "log")]
        #[macro_export]
        macro_rules! $name {
            ($dollar($dollar part:tt)+) => {
                $crate::log::text::$name!($dollar($part)+)
            };
        }
        #[doc = $what]
        #[cfg(all(feature = "defmt", not(feature = "log")))]
        #[macro_export]
        macro_rules! $name {
            ($dollar($dollar part:tt)+) => {
                $crate::log::frames::$name!($dollar($part)+)
            };
        }
        #[doc = $what]
        #[cfg(not(any(feature = "log", feature = "defmt")))]
        #[macro_export]
        macro_rules! $name {
                    ($dollar format:literal $dollar(, $value:expr)* $dollar(,)?) => {{ $dollar(let _ = &$value;)* }};
                }
    };
}

level!($, error, "Logs what failed.");
level!($, warn, "Logs what is wrong but was coped with.");
level!($, info, "Logs a step that a person at the console wants to see.");
level!($, debug, "Logs what helps to find a fault.");
level!($, trace, "Logs every message and access.");
