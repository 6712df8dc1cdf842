//! The comparison of a file of a driver's facts with the models' own.

use std::collections::BTreeSet;
use std::time::Duration;

use hal::register::{Access, Descriptor};
use sim::facts::Bits;
use tock_registers::RegisterLongName;
use tock_registers::fields::{Field, FieldValue};

use crate::source;

/// What a fact says, in a form in which both sides can be compared.
pub(crate) trait Fact {
    fn fact(&self) -> String;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Fact for $number {
            fn fact(&self) -> String {
                format!("{self:#x}")
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, usize, u128);

fn bits(mask: u64) -> String {
    format!("bits {mask:#x}")
}

impl Fact for Bits {
    fn fact(&self) -> String {
        bits(self.mask())
    }
}

impl Fact for rtkit::Field {
    fn fact(&self) -> String {
        let lowest = self.put(1).unwrap_or_default();
        bits(self.largest() * lowest)
    }
}

impl<R: RegisterLongName> Fact for Field<u32, R> {
    fn fact(&self) -> String {
        bits(u64::from(self.mask) << self.shift)
    }
}

impl<R: RegisterLongName> Fact for Field<u64, R> {
    fn fact(&self) -> String {
        bits(self.mask << self.shift)
    }
}

impl<R: RegisterLongName> Fact for FieldValue<u32, R> {
    fn fact(&self) -> String {
        self.value.fact()
    }
}

/// A register is where it lies.
impl<A: Access, R: RegisterLongName> Fact for Descriptor<A, R> {
    fn fact(&self) -> String {
        self.offset().fact()
    }
}

impl Fact for Duration {
    fn fact(&self) -> String {
        self.as_nanos().fact()
    }
}

impl Fact for &str {
    fn fact(&self) -> String {
        (*self).to_owned()
    }
}

impl<T: Fact, const N: usize> Fact for [T; N] {
    fn fact(&self) -> String {
        self.iter().map(Fact::fact).collect::<Vec<_>>().join(", ")
    }
}

/// One fact as both sides have it.
pub(crate) struct Row {
    name: String,
    driver: String,
    model: String,
}

impl Row {
    pub(crate) fn new(expression: &str, driver: &impl Fact, model: &impl Fact) -> Self {
        Self { name: name(expression), driver: driver.fact(), model: model.fact() }
    }
}

/// The constant, function or field that an expression takes a fact from.
fn name(expression: &str) -> String {
    let dense: String = expression.split_whitespace().collect();
    match dense.split_once("offset_of!(") {
        Some((_, field)) => field.trim_end_matches(')').replace(',', "::"),
        None => dense.split(['.', '(']).next().unwrap_or_default().to_owned(),
    }
}

/// Rows of `driver's expression => model's expression`.
macro_rules! rows {
    ($($driver:expr => $model:expr),* $(,)?) => {
        vec![$($crate::compare::Row::new(stringify!($driver), &$driver, &$model)),*]
    };
}
pub(crate) use rows;

/// One file of a driver's facts: its path from the workspace, the name of its module in the table, its text, and the table.
pub(crate) struct File {
    pub(crate) path: &'static str,
    pub(crate) module: &'static str,
    pub(crate) text: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// What differs between the two sides, and what only one of them has.
pub(crate) fn differences(file: &File) -> Vec<String> {
    let module = file.module;
    let stated: BTreeSet<String> = source::names(file.text).iter().map(|name| format!("{module}::{name}")).collect();
    let compared: BTreeSet<String> = file.rows.iter().map(|row| row.name.clone()).collect();
    let unequal = file.rows.iter().filter(|row| row.driver != row.model);
    let unequal = unequal.map(|row| format!("{}: the driver has {}, the model {}", row.name, row.driver, row.model));
    let missing = stated.difference(&compared).map(|name| format!("{name} has no counterpart"));
    let stale = compared.difference(&stated).map(|name| format!("{name} is compared, and is not in the file"));
    unequal.chain(missing).chain(stale).collect()
}

mod tests {
    use super::{File, differences};

    /// A driver's facts, and below the same as rows.
    mod driver {
        pub(crate) const OFFSET: u32 = 0x44;
        pub(crate) mod inner {
            pub(crate) const VALUE: u8 = 3;
        }
    }

    const TEXT: &str = "pub const OFFSET: u32 = 0x44;\npub mod inner {\n    pub const VALUE: u8 = 3;\n}\n";

    fn file(rows: Vec<super::Row>) -> File {
        File { path: "", module: "driver", text: TEXT, rows }
    }

    #[test]
    fn equal_facts_are_no_difference() {
        let rows = rows![driver::OFFSET => 0x44_u64, driver::inner::VALUE => 3_u16];
        assert_eq!(differences(&file(rows)), [""; 0]);
    }

    #[test]
    fn a_wrong_value_is_found() {
        let rows = rows![driver::OFFSET => 0x48_u64, driver::inner::VALUE => 3_u16];
        assert_eq!(differences(&file(rows)), ["driver::OFFSET: the driver has 0x44, the model 0x48"]);
    }

    #[test]
    fn a_field_that_is_one_bit_too_narrow_is_found() {
        let rows = rows![
            driver::OFFSET => 0x44_u64,
            driver::inner::VALUE => 3_u16,
            rtkit::spec::buffer::ADDRESS => sim::facts::Bits::at(42, 0),
        ];
        assert!(
            differences(&file(rows))[0].contains("the driver has bits 0xfffffffffff, the model bits 0x7ffffffffff")
        );
    }

    #[test]
    fn a_constant_without_a_counterpart_is_found() {
        let rows = rows![driver::OFFSET => 0x44_u64];
        assert_eq!(differences(&file(rows)), ["driver::inner::VALUE has no counterpart"]);
    }

    #[test]
    fn a_counterpart_without_a_constant_is_found() {
        let rows = rows![driver::OFFSET => 0x44_u64, driver::inner::VALUE => 3_u16, u32::MAX => u32::MAX];
        assert_eq!(differences(&file(rows)), ["u32::MAX is compared, and is not in the file"]);
    }
}
