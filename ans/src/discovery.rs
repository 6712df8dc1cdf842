//! From a device tree to the parts of ANS.
//!
//! Nothing here touches a register: [`Description::find`] reads the tree, and [`Description::hardware`] turns addresses
//! into windows with whatever the platform maps them by.

mod domains;
mod error;

use hal::Platform;
use hal::fdt::{CpuAddress, Node, Region, Tree};
use heapless::Vec;

use self::domains::Walk;
pub use self::error::{Block, DiscoveryError};
use crate::hardware::{ATTACHED, Hardware};
use crate::power::{BLOCKS, DOMAINS, Domain, Domains, PowerError};
use crate::sart::Version;
use crate::spec::{compatible, span};

/// Where the parts of ANS are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The NVMe block.
    pub nvme: Region<CpuAddress>,
    /// The coprocessor's block.
    pub coprocessor: Region<CpuAddress>,
    /// The mailbox.
    pub mailbox: Region<CpuAddress>,
    /// The SART.
    pub sart: Region<CpuAddress>,
    /// The SART's layout.
    pub sart_version: Version,
    /// The power-manager blocks in which the domains lie.
    pub blocks: Vec<Region<CpuAddress>, BLOCKS>,
    /// The domains, parents first.
    pub domains: Vec<Domain, DOMAINS>,
    /// Which domains the storage names, by index.
    pub attached: Vec<usize, ATTACHED>,
    /// Which domain resets the coprocessor, by index.
    pub reset: usize,
}

impl Description {
    /// Finds the internal storage of an Apple Silicon machine.
    ///
    /// # Errors
    /// [`DiscoveryError`] says what is missing, malformed or not known, and at which node.
    pub fn find(tree: &Tree<'_>) -> Result<Self, DiscoveryError> {
        let storage = storage(tree)?;
        // The tree's order is NVMe first; names win where there are any.
        let named = storage.property("reg-names").is_some();
        let reg = |name, index| if named { storage.reg_named(name) } else { storage.reg(index) };
        let nvme = large_enough(Block::Nvme, reg("nvme", 0)?)?;
        let coprocessor = large_enough(Block::Coprocessor, reg("ans", 1)?)?;

        let mailbox = enabled(storage.reference("mboxes", Some("#mbox-cells"), 0)?.node)?;
        if !compatible::MAILBOX.iter().any(|name| mailbox.is_compatible(name)) {
            return Err(DiscoveryError::unknown(Block::Mailbox, &mailbox));
        }
        let mailbox = large_enough(Block::Mailbox, mailbox.reg(0)?)?;

        let sart = enabled(storage.reference("apple,sart", None, 0)?.node)?;
        let sart_version = sart_version(&sart)?;
        let sart = large_enough(Block::Sart, sart.reg(0)?)?;

        let mut walk = Walk::default();
        let mut attached = Vec::new();
        for reference in storage.references("power-domains", Some("#power-domain-cells"))? {
            let index = walk.add(reference?.node)?;
            attached.push(index).map_err(|_| DiscoveryError::TooMany { what: "power domains of one device" })?;
        }
        let reset = storage.reference("resets", Some("#reset-cells"), 0)?.node;
        let reset = walk.index(&reset).ok_or_else(|| DiscoveryError::ResetWithoutPower { node: reset.label() })?;
        let Walk { blocks, domains, .. } = walk;
        Ok(Self { nvme, coprocessor, mailbox, sart, sart_version, blocks, domains, attached, reset })
    }

    /// Makes windows of the addresses with `map`, which is called once for each block.
    ///
    /// # Errors
    /// [`PowerError::Table`] for a description that was not made by [`Description::find`] and is inconsistent.
    pub fn hardware<P: Platform>(
        self,
        pool: P::Pool,
        clock: P::Clock,
        mut map: impl FnMut(Region<CpuAddress>) -> P::Window,
    ) -> Result<Hardware<P>, PowerError> {
        let blocks = self.blocks.into_iter().map(&mut map).collect();
        Ok(Hardware {
            nvme: map(self.nvme),
            coprocessor: map(self.coprocessor),
            mailbox: map(self.mailbox),
            sart: map(self.sart),
            sart_version: self.sart_version,
            domains: Domains::new(blocks, self.domains)?,
            attached: self.attached,
            reset: self.reset,
            pool,
            clock,
        })
    }
}

/// The controller's node.
fn storage<'t>(tree: &'t Tree<'t>) -> Result<Node<'t>, DiscoveryError> {
    if let Ok(old) = tree.compatible(&[compatible::NVME_A11]) {
        return Err(DiscoveryError::unknown(Block::Nvme, &old));
    }
    Ok(tree.compatible(&compatible::NVME)?)
}

fn sart_version(node: &Node<'_>) -> Result<Version, DiscoveryError> {
    let is_any = |names: &[&str]| names.iter().any(|name| node.is_compatible(name));
    if is_any(&compatible::SART_2) {
        Ok(Version::Two)
    } else if is_any(&compatible::SART_3) {
        Ok(Version::Three)
    } else {
        Err(DiscoveryError::unknown(Block::Sart, node))
    }
}

fn enabled(node: Node<'_>) -> Result<Node<'_>, DiscoveryError> {
    if node.is_enabled() { Ok(node) } else { Err(DiscoveryError::Disabled { node: node.label() }) }
}

/// A register beyond a block's end would be somebody else's.
fn large_enough(block: Block, region: Region<CpuAddress>) -> Result<Region<CpuAddress>, DiscoveryError> {
    let needed = match block {
        Block::Nvme => span::NVME,
        Block::Coprocessor => span::COPROCESSOR,
        Block::Mailbox => span::MAILBOX,
        Block::Sart => span::SART,
    };
    if region.size >= needed { Ok(region) } else { Err(DiscoveryError::TooSmall { block, size: region.size, needed }) }
}
