//! One node and its properties.

use core::iter::Flatten;
use core::option;

use dtoolkit::fdt::FdtNode;
use dtoolkit::standard::{NodeStandard as _, Status};
use dtoolkit::{FdtStringListIterator, FromPropertyValue, Node as _, Property as _};

use super::{FdtError, Label, Tree};

/// The strings of a property. They end at the first one that has no final NUL or is no UTF-8.
pub type Strings<'t> = Flatten<option::IntoIter<FdtStringListIterator<'t>>>;

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    pub(super) tree: &'t Tree<'t>,
    pub(super) slot: usize,
    pub(super) inner: FdtNode<'t>,
}

impl<'t> Node<'t> {
    /// The name with its unit address; empty for the root.
    pub fn name(&self) -> &'t str {
        self.inner.name()
    }

    /// The name for an error.
    pub fn label(&self) -> Label {
        Label::new(if self.slot == 0 { "/" } else { self.name() })
    }

    /// The parent; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let slot = self.tree.slots.get(self.slot)?;
        if self.slot == 0 { None } else { self.tree.node(usize::from(slot.parent)) }
    }

    /// The children, in their order.
    pub fn children(&self) -> impl Iterator<Item = Self> + use<'t> {
        let (tree, parent) = (self.tree, self.slot);
        let below = tree.slots.iter().enumerate().skip(parent + 1);
        below.filter(move |(_, slot)| usize::from(slot.parent) == parent).filter_map(|(child, _)| tree.node(child))
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
        self.inner.status() == Ok(Status::Okay) && self.parent().is_none_or(|bus| bus.is_enabled())
    }

    /// Whether one of the `compatible` strings is `name`, to the letter.
    pub fn is_compatible(&self, name: &str) -> bool {
        let strings = self.tree.slots.get(self.slot).and_then(|slot| slot.compatible.clone());
        strings.into_iter().flatten().any(|string| string == name)
    }

    /// A property's value.
    pub fn property(&self, name: &str) -> Option<&'t [u8]> {
        self.decoded(name)
    }

    /// A property's value as any type that `dtoolkit` decodes; `None` if there is none, or none of that type.
    fn decoded<T: FromPropertyValue<'t>>(&self, name: &str) -> Option<T> {
        self.inner.property(name)?.value_as().ok()
    }

    /// The same with an error for each of the two.
    fn required<T: FromPropertyValue<'t>>(&self, name: &'static str) -> Result<T, FdtError> {
        let property = self.inner.property(name).ok_or_else(|| self.not_found(name))?;
        property.value_as().map_err(|_| self.bad(name))
    }

    /// A property of one 32-bit cell.
    ///
    /// # Errors
    /// [`FdtError::NotFound`], or [`FdtError::BadProperty`] with any other size.
    pub fn cell(&self, name: &'static str) -> Result<u32, FdtError> {
        self.required(name)
    }

    /// A property of one string; `None` if there is none, or it is none.
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        self.decoded(name)
    }

    /// A property of one string.
    ///
    /// # Errors
    /// [`FdtError::NotFound`], or [`FdtError::BadProperty`] without its final NUL or if it is no UTF-8.
    pub fn string(&self, name: &'static str) -> Result<&'t str, FdtError> {
        self.required(name)
    }

    /// A property of several strings, such as `reg-names`; without the property, none.
    pub fn strings(&self, name: &str) -> Strings<'t> {
        self.decoded::<FdtStringListIterator<'t>>(name).into_iter().flatten()
    }

    pub(super) fn not_found(&self, property: &'static str) -> FdtError {
        FdtError::NotFound { node: self.label(), property }
    }

    pub(super) fn bad(&self, property: &'static str) -> FdtError {
        FdtError::BadProperty { node: self.label(), property }
    }
}
