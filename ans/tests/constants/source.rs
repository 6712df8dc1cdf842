//! Which constants a file of facts has, read from its text.

/// The names of the public constants of a source file, of its public constant functions outside `impl` blocks, of the
/// fields of its register maps with their named values, and of the fields of its structures that lie in memory.
///
/// A name is qualified by the modules, types and registers around it, but for modules that are not public: what is in
/// these is named from outside them. The file is formatted by rustfmt, so braces end where their line began.
pub(crate) fn names(source: &str) -> Vec<String> {
    let mut around: Vec<(usize, Level)> = Vec::new();
    let (mut found, mut in_memory) = (Vec::new(), false);
    for line in source.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.starts_with("#[cfg(test)]") {
            break;
        }
        if text.is_empty() || text.starts_with("//") {
            continue;
        }
        while around.last().is_some_and(|(level, _)| indent <= *level) {
            around.pop();
        }
        in_memory |= text.starts_with("#[repr(C)]");
        let inside = around.last().map(|(_, level)| level.clone());
        let qualified = |name: &str| {
            let path = around.iter().filter_map(|(_, level)| level.name());
            path.chain([name]).collect::<Vec<_>>().join("::")
        };
        let opens = text.ends_with('{') || text.ends_with('[');
        if let Some(rest) = text.strip_prefix("pub const ") {
            let (function, rest) = rest.strip_prefix("fn ").map_or((false, rest), |rest| (true, rest));
            if !(function && matches!(inside, Some(Level::Implementation(_)))) {
                found.push(qualified(word(rest)));
            }
        } else if let (Some(rest), true) = (text.strip_prefix("pub mod "), opens) {
            around.push((indent, Level::Named(word(rest).into())));
        } else if let (Some(rest), true) = (text.strip_prefix("impl "), opens) {
            let level = if rest.contains(" for ") { Level::Skipped } else { Level::Implementation(word(rest).into()) };
            around.push((indent, level));
        } else if let (Some(rest), true) = (text.strip_prefix("pub struct "), opens) {
            let name = word(rest).into();
            around.push((indent, if in_memory { Level::Layout(name) } else { Level::Skipped }));
            in_memory = false;
        } else if let (Some(rest), Some(Level::Layout(_))) = (text.strip_prefix("pub "), &inside) {
            found.push(qualified(word(rest)));
        } else if let (Some(rest), true) = (text.strip_prefix("pub "), text.ends_with('[')) {
            around.push((indent, Level::Named(word(rest).into())));
        } else if text.contains(" OFFSET(") {
            found.push(qualified(word(text)));
            if opens {
                around.push((indent, Level::Named(word(text).into())));
            }
        } else if text.split(" = ").count() == 2 && matches!(inside, Some(Level::Named(_))) {
            found.push(qualified(word(text)));
        }
    }
    found
}

#[derive(Clone)]
enum Level {
    /// A public module, a register or a field.
    Named(String),
    /// What belongs to a type.
    Implementation(String),
    /// A structure that lies in memory.
    Layout(String),
    /// A structure or an implementation without facts.
    Skipped,
}

impl Level {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::Implementation(name) | Self::Layout(name) => Some(name),
            Self::Skipped => None,
        }
    }
}

/// The identifier at the start of `text`.
fn word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or(text)
}

mod tests {
    use super::names;

    #[test]
    fn every_shape_of_a_fact_is_found_by_its_name() {
        let source = "
pub const PLAIN: u32 = 1;
const PRIVATE: u32 = 2;
pub const fn place(index: usize) -> usize {
    index
}
pub mod inner {
    /// pub const COMMENT: u32 = 3;
    pub const NESTED: [u8; 2] = [1, 2];
}
mod fields {
    register_bitfields![u32,
        pub REGISTER [
            WIDE OFFSET(4) NUMBITS(2) [
                Value = 1
            ],
            NARROW OFFSET(0) NUMBITS(1) []
        ]
    ];
}
pub struct Handle {
    pub no_fact: u32,
}
#[derive(Clone)]
#[repr(C)]
pub struct Entry {
    pub first: u32,
    pub second: u32,
}
impl Handle {
    pub const ZERO: Self = Self { no_fact: 0 };
    pub const fn get(self) -> u32 {
        self.no_fact
    }
}
pub const LAST: u32 = 9;
#[cfg(test)]
mod tests {
    pub const TEST: u32 = 4;
}
";
        let found = [
            "PLAIN",
            "place",
            "inner::NESTED",
            "REGISTER::WIDE",
            "REGISTER::WIDE::Value",
            "REGISTER::NARROW",
            "Entry::first",
            "Entry::second",
            "Handle::ZERO",
            "LAST",
        ];
        assert_eq!(names(source), found);
    }
}
