//! Memory that notices a missing barrier.

use hal::{DmaError, DmaPool};

use super::{Board, Machine, RAM};

impl Machine {
    pub(crate) fn device_read(&self, address: u64, bytes: &mut [u8]) {
        let at = (address - RAM) as usize;
        bytes.copy_from_slice(&self.ram[at..at + bytes.len()]);
    }

    pub(crate) fn device_read_u64(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.device_read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn device_write(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - RAM) as usize;
        self.ram[at..at + bytes.len()].copy_from_slice(bytes);
        self.unobserved = true;
    }
}

impl DmaPool for Board {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        self.with(|machine| {
            let offset = machine.pages.take(RAM, size, alignment)?;
            // What was freed holds rubbish; a region starts as zeroes, already visible to the device.
            machine.ram[offset..offset + size].fill(0);
            Ok(RAM + offset as u64)
        })
    }

    fn release(&self, address: u64, size: usize) {
        self.with(|machine| {
            let offset = (address - RAM) as usize;
            machine.ram[offset..offset + size].fill(0xdb);
            machine.pages.give(offset, size);
        });
    }

    fn quarantine(&self, address: u64, size: usize) {
        self.with(|machine| machine.pages.quarantine((address - RAM) as usize, size));
    }

    fn reclaim(&self) {
        self.with(|machine| machine.pages.reclaim());
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        self.with(|machine| {
            if machine.unobserved {
                machine.violations.push(format!("read of {address:#x} before observing"));
            }
            machine.device_read(address, bytes);
        });
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.with(|machine| {
            let at = (address - RAM) as usize;
            machine.ram[at..at + bytes.len()].copy_from_slice(bytes);
            machine.unpublished = true;
        });
    }

    fn read_word(&self, address: u64) -> u32 {
        self.with(|machine| {
            machine.words_read += 1;
            let mut bytes = [0; 4];
            machine.device_read(address, &mut bytes);
            u32::from_le_bytes(bytes)
        })
    }

    fn publish(&self) {
        self.with(|machine| machine.unpublished = false);
    }

    fn observe(&self) {
        self.with(|machine| machine.unobserved = false);
    }
}
