//! Properties that name other nodes.

use dtoolkit::{Node as _, PropEncodedArrayIterator, Property as _, ToCellInt as _};

use super::{FdtError, Node};

/// The most argument cells of one reference (the specification has no limit; no binding of these machines has over 4).
pub const ARGUMENTS: usize = 8;

/// A node that a property names, with the arguments that come after its phandle.
#[derive(Clone, Debug)]
pub struct Reference<'t> {
    /// The named node, enabled or not.
    pub node: Node<'t>,
    /// The arguments, as many as the named node's `#...-cells` says.
    pub arguments: heapless::Vec<u32, ARGUMENTS>,
}

/// Cells one by one.
type Cells<'t> = PropEncodedArrayIterator<'t, 1>;

fn next(cells: &mut Cells<'_>) -> Option<u32> {
    let [cell] = cells.next()?;
    cell.to_int().ok()
}

/// The references of one property. After the first error there is nothing more: where the next one starts is unknown.
#[derive(Clone, Debug)]
pub struct References<'t> {
    node: Node<'t>,
    property: &'static str,
    counter: Option<&'static str>,
    cells: Option<Cells<'t>>,
}

impl<'t> Node<'t> {
    /// The nodes that `property` names; without the property, none. `counter` is the named nodes' property with the number
    /// of arguments (`#power-domain-cells`), or `None` where there are never any (`apple,sart`).
    ///
    /// # Errors
    /// [`FdtError::BadProperty`] if the value is not made of cells.
    pub fn references(
        &self,
        property: &'static str,
        counter: Option<&'static str>,
    ) -> Result<References<'t>, FdtError> {
        let cells = self.inner.property(property).map(|value| value.as_prop_encoded_array([1])).transpose();
        let cells = cells.map_err(|_| self.bad(property))?;
        Ok(References { node: *self, property, counter, cells })
    }

    /// Reference `index` of `property`, as [`Node::references`].
    ///
    /// # Errors
    /// [`FdtError::NotFound`] without such a reference, and whatever is wrong with it or one before it.
    pub fn reference(
        &self,
        property: &'static str,
        counter: Option<&'static str>,
        index: usize,
    ) -> Result<Reference<'t>, FdtError> {
        let mut references = self.references(property, counter)?;
        for _ in 0..index {
            references.next().unwrap_or_else(|| Err(self.not_found(property)))?;
        }
        references.next().unwrap_or_else(|| Err(self.not_found(property)))
    }
}

impl<'t> References<'t> {
    fn resolve(&self, cells: &mut Cells<'t>) -> Option<Result<Reference<'t>, FdtError>> {
        let phandle = next(cells)?;
        let Some(node) = self.node.tree.phandle(phandle) else {
            return Some(Err(FdtError::BadPhandle { node: self.node.label(), property: self.property, phandle }));
        };
        let arguments = || {
            let mut arguments = heapless::Vec::new();
            for _ in 0..self.counter.map_or(Ok(0), |counter| node.cell(counter))? {
                let argument = next(cells).ok_or_else(|| self.node.bad(self.property))?;
                arguments.push(argument).map_err(|_| self.node.bad(self.property))?;
            }
            Ok(arguments)
        };
        Some(({ arguments })().map(|arguments| Reference { node, arguments }))
    }
}

impl<'t> Iterator for References<'t> {
    type Item = Result<Reference<'t>, FdtError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut cells = self.cells.take()?;
        let reference = self.resolve(&mut cells)?;
        if reference.is_ok() {
            self.cells = Some(cells);
        }
        Some(reference)
    }
}
