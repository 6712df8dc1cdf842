//! Nodes, written as briefly as a device tree source has them.

use dtoolkit::model::{DeviceTreeNode, DeviceTreeProperty};

/// The phandle of a label: numbers in no order, and none twice (a test sees to that).
pub(crate) fn handle(label: &str) -> u32 {
    // FNV-1a, kept off 0 and all ones, which are no phandles.
    label.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)) >> 1 | 1
}

/// A node under construction.
pub(crate) struct Part(DeviceTreeNode);

impl Part {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self(DeviceTreeNode::new_unchecked(name))
    }

    pub(crate) fn bytes(mut self, name: &str, value: Vec<u8>) -> Self {
        self.0.add_property(DeviceTreeProperty::new_unchecked(name, value));
        self
    }

    pub(crate) fn flag(self, name: &str) -> Self {
        self.bytes(name, Vec::new())
    }

    pub(crate) fn text(self, name: &str, strings: &[&str]) -> Self {
        self.bytes(name, strings.iter().flat_map(|text| text.bytes().chain([0])).collect())
    }

    /// Values of one cell each.
    pub(crate) fn cells(self, name: &str, values: &[u32]) -> Self {
        self.bytes(name, values.iter().flat_map(|value| value.to_be_bytes()).collect())
    }

    /// Values of two cells each.
    pub(crate) fn wide(self, name: &str, values: &[u64]) -> Self {
        self.bytes(name, values.iter().flat_map(|value| value.to_be_bytes()).collect())
    }

    pub(crate) fn label(self, label: &str) -> Self {
        self.cells("phandle", &[handle(label)])
    }

    /// References without arguments.
    pub(crate) fn to(self, name: &str, labels: &[&str]) -> Self {
        self.cells(name, &labels.iter().map(|label| handle(label)).collect::<Vec<_>>())
    }

    pub(crate) fn power(self, labels: &[&str]) -> Self {
        if labels.is_empty() { self } else { self.to("power-domains", labels) }
    }

    /// Interrupts of the AIC, level high.
    pub(crate) fn irqs(self, lines: &[u32]) -> Self {
        self.to("interrupt-parent", &["interrupts"])
            .cells("interrupts", &lines.iter().flat_map(|&line| [0, line, 4]).collect::<Vec<_>>())
    }

    /// `#address-cells` and `#size-cells`.
    pub(crate) fn bus(self, address: u32, size: u32) -> Self {
        self.cells("#address-cells", &[address]).cells("#size-cells", &[size])
    }

    pub(crate) fn disabled(self) -> Self {
        self.text("status", &["disabled"])
    }

    pub(crate) fn with(mut self, child: Self) -> Self {
        self.0.add_child(child.0);
        self
    }

    pub(crate) fn with_all(self, children: impl IntoIterator<Item = Self>) -> Self {
        children.into_iter().fold(self, Self::with)
    }

    pub(crate) fn done(self) -> DeviceTreeNode {
        self.0
    }
}
