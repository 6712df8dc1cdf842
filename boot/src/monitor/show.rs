//! What there is: controllers and namespaces.

use hal::Platform;
use nvme::{Access, Deallocated, DoorbellState, Namespace};

use super::durability::Cached;
use super::{Armed, Monitor, Selected, controller, missing};
use crate::any::AnyController;
use crate::reason::Reason;

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn controllers(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, out, .. } = self;
        for index in 0..storage.count() {
            let place = storage.place(index);
            let controller = controller(*storage, Selected { controller: index, ..*selected })?;
            let mark = if index == selected.controller { '*' } else { ' ' };
            write!(out, "{mark} {index}: ").map_err(Reason::new)?;
            if let Some(place) = place {
                write!(out, "{place}, ").map_err(Reason::new)?;
            }
            let identity = controller.identity();
            write!(out, "model {}, serial {}, namespaces", identity.model, identity.serial).map_err(Reason::new)?;
            if controller.namespaces().is_empty() {
                write!(out, " none").map_err(Reason::new)?;
            }
            for namespace in controller.namespaces() {
                write!(out, " {}", namespace.id).map_err(Reason::new)?;
            }
            let pairs = controller.queue_pairs();
            let kind = kind(controller.doorbells());
            writeln!(out, ", queue pairs {pairs}, {kind} doorbells").map_err(Reason::new)?;
        }
        if !storage.is_complete() {
            writeln!(out, "a controller is missing: the log says which did not come up").map_err(Reason::new)?;
        }
        Ok(())
    }

    pub(super) fn info(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, armed, out, .. } = self;
        let controller = controller(*storage, *selected)?;
        let identity = controller.identity();
        let cache = Cached(controller.write_cache());
        writeln!(
            out,
            "model      {}\nserial     {}\nfirmware   {}\nNVMe       {}\nlimits     {} KiB per command, {} commands in \
             flight\ncache      {cache}\npage       {} bytes\nqueues     {}\ndoorbells  {}",
            identity.model,
            identity.serial,
            identity.firmware,
            identity.version,
            identity.transfer >> 10,
            controller.depth(),
            controller.page_size(),
            controller.queue_pairs(),
            kind(controller.doorbells())
        )
        .map_err(Reason::new)?;
        let id = selected.namespace;
        if let (Ok(policy), Ok(mode)) = (controller.flush_policy(id), controller.cache_mode(id)) {
            writeln!(out, "flushes    {policy}, namespace {id} is {mode}").map_err(Reason::new)?;
        }
        write!(out, "optional  ").map_err(Reason::new)?;
        let optional =
            [(identity.compare, "compare"), (identity.write_zeroes, "write-zeroes"), (identity.discard, "discard")];
        if optional.iter().all(|(has, _)| !has) {
            write!(out, " none").map_err(Reason::new)?;
        }
        for (_, name) in optional.into_iter().filter(|(has, _)| *has) {
            write!(out, " {name}").map_err(Reason::new)?;
        }
        match armed {
            Some(armed) => writeln!(out, "\narmed      {armed}"),
            None => writeln!(out, "\narmed      nothing"),
        }
        .map_err(Reason::new)
    }

    pub(super) fn namespaces(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, armed, out, .. } = self;
        let controller = controller(*storage, *selected)?;
        for namespace in controller.namespaces() {
            let (blocks, block_size) = (namespace.blocks, namespace.block_size());
            let kibibytes = blocks.saturating_mul(u64::from(block_size)) >> 10;
            let (size, unit) = if kibibytes < 1 << 10 { (kibibytes, "KiB") } else { (kibibytes >> 10, "MiB") };
            write!(
                out,
                "namespace {}: {blocks} blocks of {block_size} bytes, {size} {unit}, type {}, ",
                namespace.id, namespace.vendor_type
            )
            .map_err(Reason::new)?;
            let here = Selected { namespace: namespace.id, ..*selected };
            match armed {
                Some(Armed { disk, first, last }) if *disk == here => write!(out, "blocks {first} to {last} armed"),
                _ => write!(out, "{}", untouched(namespace)),
            }
            .map_err(Reason::new)?;
            let role = if here == *selected { ", the disk" } else { "" };
            let deallocated = match namespace.deallocated {
                Deallocated::Zeroes => ", deallocated blocks read as zeroes",
                Deallocated::Ones => ", deallocated blocks read as ones",
                Deallocated::Unknown => "",
            };
            writeln!(out, "{role}{deallocated}").map_err(Reason::new)?;
        }
        for (id, why) in controller.left_out() {
            writeln!(out, "namespace {id} is not used: {why}").map_err(Reason::new)?;
        }
        if controller.namespaces().is_empty() { Err(none(controller, selected.controller)) } else { Ok(()) }
    }
}

/// Why there is nothing to work on.
fn none<P: Platform>(controller: &dyn AnyController<P>, index: usize) -> Reason {
    match controller.left_out().first() {
        Some((id, _)) => missing(controller, *id),
        None => Reason::new(format_args!("controller {index} has no active namespace")),
    }
}

/// How a namespace is that nothing is armed of.
fn untouched(namespace: &Namespace) -> &'static str {
    match (namespace.write_protected, namespace.access) {
        (true, _) => "write protected",
        (false, Access::ReadOnly) => "read-only",
        (false, Access::ReadWrite { .. }) => "armed",
    }
}

/// How doorbells of IO queues are rung.
fn kind(doorbells: DoorbellState) -> &'static str {
    if doorbells.shadowed { "shadow" } else { "register" }
}
