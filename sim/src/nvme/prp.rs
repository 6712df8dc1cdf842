//! Physical region pages: from the two pointers of a command to the pieces of memory that they name.

use super::bits;
use super::status::Status;
pub(crate) use crate::facts::controller::PAGE;
use crate::memory::PhysicalMemory;

/// A piece of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    pub(crate) length: u64,
}

impl Segment {
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.address < other.address.saturating_add(other.length)
            && other.address < self.address.saturating_add(self.length)
    }
}

/// What is wrong with a command's pointers: the rule, the detail, and how the command fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrpProblem {
    pub(crate) rule: &'static str,
    pub(crate) detail: String,
    pub(crate) status: Status,
}

fn offset(what: &str, pointer: u64) -> PrpProblem {
    let detail = format!("{what} {pointer:#x} has an offset that is not allowed there");
    PrpProblem { rule: "prp-offset", detail, status: Status::INVALID_PRP_OFFSET }
}

fn missing(what: &str, remaining: u64) -> PrpProblem {
    let detail = format!("{what} is 0 with {remaining} bytes still to be placed");
    PrpProblem { rule: "prp-missing", detail, status: Status::INVALID_FIELD }
}

/// Adjacent pieces become one.
fn push(segments: &mut Vec<Segment>, address: u64, length: u64) {
    match segments.last_mut() {
        Some(last) if last.address.checked_add(last.length) == Some(address) => last.length += length,
        _ => segments.push(Segment { address, length }),
    }
}

/// The memory which the pointers name for a transfer of `bytes`, in pages of `page` bytes. Bounded: every list page but the
/// last gives all its entries but one.
pub(crate) fn walk(
    memory: &mut dyn PhysicalMemory,
    prp: [u64; 2],
    bytes: u64,
    page: u64,
) -> Result<Vec<Segment>, PrpProblem> {
    let mut segments = Vec::new();
    if bytes == 0 {
        return Ok(segments);
    }
    let [first, second] = prp;
    if first == 0 {
        return Err(missing("PRP1", bytes));
    }
    if !first.is_multiple_of(4) {
        return Err(offset("PRP1", first));
    }
    let head = bytes.min(page - first % page);
    push(&mut segments, first, head);
    let mut remaining = bytes - head;
    if remaining == 0 {
        // PRP2 is reserved; the caller looks at it.
        return Ok(segments);
    }
    if second == 0 {
        return Err(missing("PRP2", remaining));
    }
    if remaining <= page {
        if !second.is_multiple_of(page) {
            return Err(offset("PRP2", second));
        }
        push(&mut segments, second, remaining);
        return Ok(segments);
    }
    if !second.is_multiple_of(8) {
        return Err(offset("PRP2 as list pointer", second));
    }
    let mut pointer = second;
    while remaining > 0 {
        let mut word = [0; 8];
        memory.read(pointer, &mut word).map_err(|fault| PrpProblem {
            rule: "dma-fault",
            detail: format!("PRP list: {fault}"),
            status: Status::DATA_TRANSFER_ERROR,
        })?;
        let entry = u64::from_le_bytes(word);
        if entry == 0 {
            return Err(missing("a PRP list entry", remaining));
        }
        if !entry.is_multiple_of(page) {
            return Err(offset("PRP list entry", entry));
        }
        // The last slot of a list page leads to the next one, unless just one page of data is left for it.
        if pointer % page == page - 8 && remaining > page {
            pointer = entry;
            continue;
        }
        let length = remaining.min(page);
        push(&mut segments, entry, length);
        remaining -= length;
        pointer += 8;
    }
    Ok(segments)
}

/// Copies memory from `segments` one after the other.
pub(crate) fn gather(memory: &mut dyn PhysicalMemory, segments: &[Segment]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for segment in segments {
        let start = bytes.len();
        bytes.resize(start + bits::size(segment.length), 0);
        if let Some(part) = bytes.get_mut(start..) {
            memory.read(segment.address, part).map_err(|fault| fault.to_string())?;
        }
    }
    Ok(bytes)
}

/// Copies `bytes` to `segments` one after the other.
pub(crate) fn scatter(memory: &mut dyn PhysicalMemory, segments: &[Segment], bytes: &[u8]) -> Result<(), String> {
    let mut rest = bytes;
    for segment in segments {
        let (part, later) = rest.split_at_checked(bits::size(segment.length)).unwrap_or((rest, &[]));
        memory.write(segment.address, part).map_err(|fault| fault.to_string())?;
        rest = later;
    }
    Ok(())
}
