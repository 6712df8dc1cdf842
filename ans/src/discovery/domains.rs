//! The power domains that hang on one another, in an order that has parents first.

use hal::fdt::{CpuAddress, Label, Node, Region};
use heapless::Vec;

use super::error::DiscoveryError;
use crate::power::{BLOCKS, DOMAINS, Domain};
use crate::spec::compatible;

/// Bytes of a domain's word.
const WORD: u64 = 4;

/// What was found so far.
#[derive(Default)]
pub(super) struct Walk {
    /// Power-manager blocks.
    pub(super) blocks: Vec<Region<CpuAddress>, BLOCKS>,
    /// Domains; each one's parents stand before it.
    pub(super) domains: Vec<Domain, DOMAINS>,
    /// The domains' phandles, in the same order.
    phandles: Vec<u32, DOMAINS>,
    /// The domains whose parents are being looked at, from the outermost on.
    path: Vec<u32, DOMAINS>,
}

impl Walk {
    /// The index of a domain that was added.
    pub(super) fn index(&self, node: &Node<'_>) -> Option<usize> {
        let phandle = node.cell("phandle").ok()?;
        self.phandles.iter().position(|known| *known == phandle)
    }

    /// Adds a domain after all its parents, unless it is there already; gives its index. The path bounds the depth.
    pub(super) fn add(&mut self, node: Node<'_>) -> Result<usize, DiscoveryError> {
        if let Some(index) = self.index(&node) {
            return Ok(index);
        }
        if !compatible::POWER_DOMAIN.iter().any(|name| node.is_compatible(name)) {
            return Err(DiscoveryError::NotADomain { node: node.label() });
        }
        let phandle = node.cell("phandle")?;
        if self.path.contains(&phandle) {
            return Err(DiscoveryError::Circle { node: node.label() });
        }
        let too_many = DiscoveryError::TooMany { what: "power domains" };
        self.path.push(phandle).map_err(|_| too_many.clone())?;
        let mut parents = Vec::new();
        for reference in node.references("power-domains", Some("#power-domain-cells"))? {
            let parent = self.add(reference?.node)?;
            parents.push(parent).map_err(|_| DiscoveryError::TooMany { what: "parents of one power domain" })?;
        }
        self.path.pop();
        let (block, offset) = self.place(&node)?;
        let name = node.string("label").map_or_else(|_| node.label(), Label::new);
        let always_on = node.property("apple,always-on").is_some();
        let domain = Domain { name, block, offset, parents, always_on };
        self.domains.push(domain).map_err(|_| too_many.clone())?;
        self.phandles.push(phandle).map_err(|_| too_many)?;
        Ok(self.domains.len() - 1)
    }

    /// A domain's block and its offset in there: its `reg` is relative to the power manager that it is a child of.
    fn place(&mut self, node: &Node<'_>) -> Result<(usize, usize), DiscoveryError> {
        let manager = node.parent().ok_or_else(|| DiscoveryError::NotADomain { node: node.label() })?;
        let block = manager.reg(0)?;
        let offset = node.bus_reg(0)?.address.0;
        let outside = DiscoveryError::OutsideBlock { node: node.label(), offset, size: block.size };
        if offset % WORD != 0 || offset.checked_add(WORD).is_none_or(|end| end > block.size) {
            return Err(outside);
        }
        let offset = usize::try_from(offset).map_err(|_| outside)?;
        let known = self.blocks.iter().position(|known| *known == block);
        let index = match known {
            Some(index) => index,
            None => {
                let full = DiscoveryError::TooMany { what: "power-manager blocks" };
                self.blocks.push(block).map_err(|_| full)?;
                self.blocks.len() - 1
            }
        };
        Ok((index, offset))
    }
}
