//! The controller with all that it needs besides memory: time, chance and the record.

use super::board::BAR0;
use super::{ControllerConfig, Counters, Device, Fault, registers};
use crate::context::{Context, EventQueue, Random, Wires};
use crate::host::{Block, Model, SharedPages};
use crate::memory::PhysicalMemory;
use crate::record::Record;

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Right after so many more events of the model, at least one: what falls due, and each register written.
    AfterEvents(u64),
    /// At that moment of model time, in nanoseconds, before what falls due then.
    At(u64),
}

/// A standard controller: everything that a driver reaches but the CPU and the memory. BAR0 is at [`BAR0`].
#[derive(Debug)]
pub struct Controller {
    now: u64,
    events: EventQueue,
    random: Random,
    record: Record,
    wires: Wires,
    device: Device,
    cut: Option<Cut>,
    cut_at: Option<u64>,
}

impl Controller {
    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.device.counters
    }

    /// Plans one more thing to go wrong.
    pub fn add_fault(&mut self, fault: Fault) {
        self.device.config.faults.push(fault);
    }

    /// Nothing goes wrong any more; what already went wrong stays.
    pub fn clear_faults(&mut self) {
        self.device.config.faults.clear();
    }

    /// IO commands fetched so far: the number of the next one, for faults that name one.
    pub fn io_commands(&self) -> u64 {
        self.device.io_commands
    }

    /// Flushes fetched so far.
    pub fn flushes(&self) -> u64 {
        self.device.flushes
    }

    /// Plans a power cut, or none.
    pub fn plan_cut(&mut self, cut: Option<Cut>) {
        self.cut = cut;
    }

    /// When the power failed by plan; none while it is on.
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// The power comes back.
    pub fn power_on(&mut self) {
        (self.device.powered, self.cut_at) = (true, None);
    }

    /// Another host turns the write cache on or off.
    pub fn change_write_cache(&mut self, memory: &mut dyn PhysicalMemory, enabled: bool) {
        self.with(memory, |device, ctx| device.change_write_cache(ctx, enabled));
    }

    /// Whether the write cache is in use.
    pub fn write_cache_enabled(&self) -> bool {
        self.device.write_cache_enabled()
    }

    fn fail_as_planned(&mut self, memory: &mut dyn PhysicalMemory) {
        (self.cut, self.cut_at) = (None, Some(self.now));
        self.with(memory, |device, ctx| device.cut_power(ctx));
    }

    /// An event is over.
    fn count_event(&mut self, memory: &mut dyn PhysicalMemory) {
        if let Some(Cut::AfterEvents(left)) = &mut self.cut {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.fail_as_planned(memory);
            }
        }
    }

    /// Lets the power fail if that is planned for a moment up to `time_ns`.
    fn cut_by(&mut self, memory: &mut dyn PhysicalMemory, time_ns: u64) {
        if let Some(Cut::At(moment)) = self.cut.filter(|cut| matches!(cut, Cut::At(at) if *at <= time_ns)) {
            self.now = self.now.max(moment);
            self.fail_as_planned(memory);
        }
    }

    /// Commands in flight, without asynchronous event requests.
    pub fn in_flight(&self) -> usize {
        self.device.commands.len()
    }

    /// The power fails and comes back: registers as after power-on, what the write cache holds is lost, or a part of it; gives
    /// the number of such blocks.
    pub fn cut_power(&mut self, memory: &mut dyn PhysicalMemory) -> usize {
        let lost = self.with(memory, |device, ctx| device.cut_power(ctx));
        self.power_on();
        lost
    }

    /// The temperature becomes that, in kelvin.
    pub fn set_temperature(&mut self, memory: &mut dyn PhysicalMemory, kelvin: u16) {
        self.with(memory, |device, ctx| device.set_temperature(ctx, kelvin));
    }

    /// A namespace becomes write protected, or writable again, which is a change of its attributes.
    pub fn set_read_only(&mut self, memory: &mut dyn PhysicalMemory, namespace: u32, read_only: bool) {
        self.with(memory, |device, ctx| {
            if let Some(found) = device.namespaces.get_mut(&namespace) {
                found.read_only = read_only;
                device.namespace_changed(ctx, namespace);
            }
        });
    }

    /// The level of the interrupt line.
    pub fn interrupt(&mut self, memory: &mut dyn PhysicalMemory) -> bool {
        self.with(memory, |device, ctx| device.interrupt(ctx))
    }

    fn with<T>(&mut self, memory: &mut dyn PhysicalMemory, act: impl FnOnce(&mut Device, &mut Context<'_>) -> T) -> T {
        let mut ctx = Context {
            now: self.now,
            memory,
            record: &mut self.record,
            events: &mut self.events,
            random: &mut self.random,
            wires: &mut self.wires,
        };
        act(&mut self.device, &mut ctx)
    }

    fn offset(&self, address: u64, size: u8) -> Result<u64, String> {
        let offset = address.wrapping_sub(BAR0);
        if offset >= self.device.bar_size() {
            return Err("no block is there".into());
        }
        let fits = matches!(size, 4 | 8) && offset.is_multiple_of(size.into());
        fits.then_some(offset).ok_or_else(|| "wrong size or alignment".into())
    }
}

impl Model for Controller {
    type Config = ControllerConfig;

    fn new(config: ControllerConfig) -> Self {
        let (random, device) = (Random::new(config.seed), Device::new(config));
        let (events, record, wires) = (EventQueue::default(), Record::default(), Wires::default());
        Self { now: 0, events, random, record, wires, device, cut: None, cut_at: None }
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn next_event(&self) -> Option<u64> {
        self.events.next()
    }

    fn advance_to(&mut self, memory: &mut dyn PhysicalMemory, time_ns: u64) {
        loop {
            self.cut_by(memory, self.events.next().unwrap_or(time_ns).min(time_ns));
            let Some((due, event)) = self.events.due(time_ns) else { break };
            self.now = self.now.max(due);
            if let crate::context::Event::Nvme(number) = event {
                self.with(memory, |device, ctx| device.event(ctx, number));
                self.count_event(memory);
            }
        }
        self.now = self.now.max(time_ns);
    }

    fn read(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8) -> Result<u64, String> {
        let offset = self.offset(address, size)?;
        let value = self.with(memory, |device, ctx| device.read(ctx, offset, size));
        Ok(if size < 8 { value & 0xffff_ffff } else { value })
    }

    fn write(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8, value: u64) -> Result<(), String> {
        let offset = self.offset(address, size)?;
        self.with(memory, |device, ctx| device.write(ctx, offset, size, value));
        self.count_event(memory);
        Ok(())
    }

    fn finish(&mut self, memory: &mut dyn PhysicalMemory) {
        self.with(memory, |device, ctx| device.finish(ctx));
    }

    fn block(&self, address: u64) -> Option<Block> {
        let size = self.device.bar_size();
        (address.wrapping_sub(BAR0) < size).then_some((registers::NAME, BAR0, size))
    }

    fn named(&self, name: &str) -> Option<Block> {
        (name == registers::NAME).then(|| (registers::NAME, BAR0, self.device.bar_size()))
    }

    fn held(&self) -> Vec<(u64, &'static str, String)> {
        self.device.held_pages()
    }

    fn shared_pages(&self) -> Option<SharedPages> {
        let pages = self.device.pages?;
        let ring = |(id, queue): (&u16, &super::Submissions)| {
            let segment = queue.segment();
            (self.device.tail_offset(*id), segment.address, segment.length)
        };
        let rings = self.device.submissions.iter().filter(|(id, _)| **id != 0).map(ring).collect();
        let live = self.device.known_doorbells().into_iter().map(|(offset, _)| offset).collect();
        Some(SharedPages { shadow: pages.shadow, events: pages.events, size: pages.size, rings, live })
    }

    fn record(&self) -> &Record {
        &self.record
    }

    fn record_mut(&mut self) -> &mut Record {
        &mut self.record
    }
}
