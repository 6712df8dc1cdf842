//! Sets of endpoints, and the pages that announce them.

use crate::spec::management;
use crate::{Endpoint, Message};

/// Endpoint numbers, each in or out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndpointSet {
    pages: [u32; 8],
}

impl EndpointSet {
    /// Puts one in; says whether it was out.
    pub(super) fn insert(&mut self, endpoint: Endpoint) -> bool {
        let bit = 1 << (endpoint.0 % 32);
        match self.pages.get_mut(usize::from(endpoint.0 / 32)) {
            Some(page) => {
                let new = *page & bit == 0;
                *page |= bit;
                new
            }
            None => false,
        }
    }

    /// Whether one is in.
    pub(super) fn contains(&self, endpoint: Endpoint) -> bool {
        self.pages.get(usize::from(endpoint.0 / 32)).is_some_and(|page| page >> (endpoint.0 % 32) & 1 != 0)
    }

    /// Puts in what a page of the map lists.
    pub(super) fn insert_page(&mut self, page: MapPage) {
        if let Some(bits) = self.pages.get_mut(page.base) {
            *bits |= page.bitmap;
        }
    }
}

/// One page of the endpoint map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapPage {
    base: usize,
    bitmap: u32,
    last: bool,
}

impl MapPage {
    /// Reads a page from a message of type [`management::ENDPOINT_MAP`].
    pub(super) fn decode(payload: u64) -> Self {
        Self {
            base: management::MAP_BASE.get_u32(payload) as usize,
            bitmap: management::MAP_BITMAP.get_u32(payload),
            last: payload & management::MAP_LAST != 0,
        }
    }

    /// Whether no page follows.
    pub(super) const fn is_last(self) -> bool {
        self.last
    }

    /// The answer, without which no further page comes: the page number, and either "last" or "more".
    pub(super) const fn reply(self) -> Message {
        let end = if self.last { management::MAP_LAST } else { management::MAP_MORE };
        Message::management(management::ENDPOINT_MAP, (self.base as u64) << 32 | end)
    }
}
