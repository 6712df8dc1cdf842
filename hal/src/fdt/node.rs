//! One node and its properties.

use zerocopy::IntoBytes;

use super::{FdtError, Label, NOP, PROPERTY, RawProperty, Slot, Tree, name_words};

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree<'t>,
    slot: usize,
}

impl<'t> Node<'t> {
    pub(super) fn new(tree: &'t Tree<'t>, slot: usize) -> Self {
        Self { tree, slot }
    }

    pub(super) fn tree(&self) -> &'t Tree<'t> {
        self.tree
    }

    fn slot(&self) -> Slot {
        self.tree.slots.get(self.slot).copied().unwrap_or(Slot::EMPTY)
    }

    /// The name with its unit address; empty for the root, and for a name that is no UTF-8.
    pub fn name(&self) -> &'t str {
        let words = name_words(self.tree.structure, self.slot().name).map_or(&[][..], |(words, _)| words);
        until_nul(words.as_bytes()).unwrap_or_default()
    }

    /// The name for an error.
    pub fn label(&self) -> Label {
        Label::new(if self.slot == 0 { "/" } else { self.name() })
    }

    /// The parent; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        (self.slot != 0).then(|| Self::new(self.tree, usize::from(self.slot().parent)))
    }

    /// The children, in their order.
    pub fn children(&self) -> impl Iterator<Item = Self> + use<'t> {
        let (tree, end) = (self.tree, usize::from(self.slot().end));
        let mut next = self.slot + 1;
        core::iter::from_fn(move || {
            let child = Self::new(tree, next);
            // A slot's end lies behind it, so that this goes on.
            next = (next < end).then(|| usize::from(child.slot().end))?;
            Some(child)
        })
    }

    /// The node at a path from here; a component without unit address matches any.
    pub(super) fn descendant(self, path: &str) -> Option<Self> {
        path.split('/').filter(|component| !component.is_empty()).try_fold(self, |node, component| {
            node.children().find(|child| {
                let name = child.name();
                name == component || name.strip_prefix(component).is_some_and(|rest| rest.starts_with('@'))
            })
        })
    }

    /// Whether neither the node nor a bus above it is marked as anything but okay.
    pub fn is_enabled(&self) -> bool {
        let mut node = Some(*self);
        while let Some(this) = node {
            if this.property("status").is_some_and(|value| !matches!(until_nul(value), Some("okay" | "ok"))) {
                return false;
            }
            node = this.parent();
        }
        true
    }

    /// Whether one of the `compatible` strings is `name`, to the letter.
    pub fn is_compatible(&self, name: &str) -> bool {
        let (start, size) = self.slot().compatible;
        Strings(self.value(start, size)).any(|string| string == name)
    }

    fn value(&self, start: usize, size: usize) -> &'t [u8] {
        self.tree.structure.get(start..).and_then(|words| words.as_bytes().get(..size)).unwrap_or_default()
    }

    /// A property's value.
    pub fn property(&self, name: &str) -> Option<&'t [u8]> {
        let structure = self.tree.structure;
        let (_, mut word) = name_words(structure, self.slot().name)?;
        loop {
            match u32::from_be(*structure.get(word)?) {
                PROPERTY => {
                    let property = RawProperty::at(structure, word)?;
                    if property.is_named(self.tree.strings, name) {
                        return Some(self.value(property.value, property.size));
                    }
                    word = property.next;
                }
                NOP => word += 1,
                _ => return None,
            }
        }
    }

    /// A property's value, which has to be there.
    ///
    /// # Errors
    /// [`FdtError::NotFound`].
    pub fn required(&self, name: &'static str) -> Result<&'t [u8], FdtError> {
        self.property(name).ok_or_else(|| self.not_found(name))
    }

    /// A property of one 32-bit cell.
    ///
    /// # Errors
    /// [`FdtError::NotFound`], or [`FdtError::BadProperty`] with any other size.
    pub fn cell(&self, name: &'static str) -> Result<u32, FdtError> {
        let value = <[u8; 4]>::try_from(self.required(name)?).map_err(|_| self.bad(name))?;
        Ok(u32::from_be_bytes(value))
    }

    /// A property of any number of 32-bit cells.
    ///
    /// # Errors
    /// [`FdtError::NotFound`], or [`FdtError::BadProperty`] if the size is no multiple of four.
    pub fn cells(&self, name: &'static str) -> Result<Cells<'t>, FdtError> {
        match self.required(name)?.as_chunks() {
            (cells, []) => Ok(Cells(cells)),
            _ => Err(self.bad(name)),
        }
    }

    /// A property's first string; `None` if there is none, or it is no UTF-8.
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        self.property(name).and_then(until_nul)
    }

    /// A property of one string. A missing final NUL is forgiven.
    ///
    /// # Errors
    /// [`FdtError::NotFound`], or [`FdtError::BadProperty`] if it is no UTF-8.
    pub fn string(&self, name: &'static str) -> Result<&'t str, FdtError> {
        until_nul(self.required(name)?).ok_or_else(|| self.bad(name))
    }

    /// A property of several strings, such as `reg-names`; without the property, none.
    pub fn strings(&self, name: &str) -> Strings<'t> {
        Strings(self.property(name).unwrap_or_default())
    }

    pub(super) fn not_found(&self, property: &'static str) -> FdtError {
        FdtError::NotFound { node: self.label(), property }
    }

    pub(super) fn bad(&self, property: &'static str) -> FdtError {
        FdtError::BadProperty { node: self.label(), property }
    }
}

/// The text before the first NUL, or all of it.
fn until_nul(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes.split(|&byte| byte == 0).next()?).ok()
}

/// Big-endian 32-bit cells.
#[derive(Clone, Debug)]
pub struct Cells<'t>(&'t [[u8; 4]]);

impl Cells<'_> {
    /// The next `count` cells as one number, the first one highest; `None` if there are fewer or it takes more than 64 bits.
    pub fn number(&mut self, count: usize) -> Option<u64> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        (count <= 2).then(|| taken.iter().fold(0, |high, cell| high << 32 | u64::from(u32::from_be_bytes(*cell))))
    }

    /// Whether none are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Iterator for Cells<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*first))
    }
}

/// NUL-separated strings; one that is no UTF-8 comes out empty, so that the others keep their places.
#[derive(Clone, Debug)]
pub struct Strings<'t>(&'t [u8]);

impl<'t> Iterator for Strings<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|&byte| byte == 0);
        let (string, rest) = self.0.split_at_checked(end.unwrap_or(self.0.len()))?;
        self.0 = rest.get(1..).unwrap_or_default();
        Some(core::str::from_utf8(string).unwrap_or_default())
    }
}
