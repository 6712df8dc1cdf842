//! Get and Set Features.

use std::collections::BTreeMap;

use super::{ControllerConfig, Device, Fault};
use crate::context::Context;
use crate::facts::command as facts;
use crate::nvme::bits;
use crate::nvme::entry::Submission;
use crate::nvme::status::Status;

/// The temperature threshold after a reset, in kelvin.
const THRESHOLD: u32 = 358;

#[derive(Clone, Copy, Debug)]
struct Feature {
    default: u32,
    saved: u32,
    current: u32,
}

/// The values of all features that there are.
#[derive(Debug)]
pub(super) struct Features(BTreeMap<u8, Feature>);

impl Features {
    pub(super) fn new(config: &ControllerConfig) -> Self {
        let pairs = u32::from(config.queue_pairs) - 1;
        let cache = u32::from(config.write_cache.present && config.write_cache.enabled);
        let defaults = [
            (facts::FEATURE_ARBITRATION, 0),
            (facts::FEATURE_POWER, 0),
            (facts::FEATURE_TEMPERATURE, THRESHOLD),
            (facts::FEATURE_RECOVERY, 0),
            (facts::FEATURE_WRITE_CACHE, cache),
            (facts::FEATURE_QUEUES, facts::QUEUES_SUBMISSION.put32(pairs) | facts::QUEUES_COMPLETION.put32(pairs)),
            (facts::FEATURE_COALESCING, 0),
            (facts::FEATURE_VECTOR, 0),
            (facts::FEATURE_ATOMICITY, 0),
            (facts::FEATURE_EVENTS, 0),
        ];
        let feature = |value| Feature { default: value, saved: value, current: value };
        Self(defaults.into_iter().map(|(id, value)| (id, feature(value))).collect())
    }

    /// The current value.
    pub(super) fn get(&self, id: u8) -> u32 {
        self.0.get(&id).map_or(0, |feature| feature.current)
    }

    /// A reset: saved values count.
    pub(super) fn reset(&mut self) {
        self.0.values_mut().for_each(|feature| feature.current = feature.saved);
    }
}

impl Device {
    pub(super) fn write_cache_enabled(&self) -> bool {
        facts::WRITE_CACHE_ENABLE.of32(self.features.get(facts::FEATURE_WRITE_CACHE)) == 1
    }

    /// IO queue pairs that the host may create.
    pub(super) fn queues_granted(&self) -> (u16, u16) {
        let value = self.features.get(facts::FEATURE_QUEUES);
        let count = |field: u32| bits::low16(field.into()).saturating_add(1);
        (count(facts::QUEUES_SUBMISSION.of32(value)), count(facts::QUEUES_COMPLETION.of32(value)))
    }

    /// There is no feature of a write cache where there is no cache.
    fn has_feature(&self, id: u8) -> bool {
        self.features.0.contains_key(&id) && (id != facts::FEATURE_WRITE_CACHE || self.config.write_cache.present)
    }

    fn is_saveable(&self, id: u8) -> bool {
        self.config.saveable && self.config.optional.save_select && id != facts::FEATURE_QUEUES
    }

    /// Another host turns the write cache on or off.
    pub(super) fn change_write_cache(&mut self, ctx: &mut Context<'_>, enabled: bool) {
        if !enabled {
            self.write_back_all(ctx);
        }
        if let Some(feature) = self.features.0.get_mut(&facts::FEATURE_WRITE_CACHE) {
            feature.current = enabled.into();
        }
    }

    /// A reset: saved values count. With a cache that is off by them, what had completed is durable too.
    pub(super) fn reset_features(&mut self, ctx: &mut Context<'_>) {
        let was_enabled = self.write_cache_enabled();
        self.features.reset();
        if was_enabled && !self.write_cache_enabled() {
            self.write_back_all(ctx);
        }
    }

    pub(super) fn set_features(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        let [selector, ..] = entry.dwords;
        let id = bits::low8(facts::FEATURE_ID.of32(selector).into());
        if id == facts::FEATURE_WRITE_CACHE && self.has(&Fault::WriteCacheStuck) {
            return Ok(0);
        }
        let result = self.set_feature(ctx, entry, id)?;
        let planned = self.config.faults.iter().find_map(|fault| match fault {
            Fault::SetFeatureFailsAfter { feature, half_word } if *feature == id => Some(*half_word),
            _ => None,
        });
        planned.map_or(Ok(result), |half_word| Err(Status::from_bits(half_word)))
    }

    fn set_feature(&mut self, ctx: &mut Context<'_>, entry: &Submission, id: u8) -> Result<u32, Status> {
        let [selector, value, ..] = entry.dwords;
        if !self.has_feature(id) {
            return Err(Status::INVALID_FIELD);
        }
        let save = facts::FEATURE_SAVE.of32(selector) == 1;
        if save && !self.is_saveable(id) {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        let value = match id {
            facts::FEATURE_QUEUES => self.grant_queues(value)?,
            facts::FEATURE_ATOMICITY => value & 1,
            // One power state.
            facts::FEATURE_POWER if value & 0x1f != 0 => return Err(Status::INVALID_FIELD),
            facts::FEATURE_WRITE_CACHE => {
                let enable = facts::WRITE_CACHE_ENABLE.of32(value);
                if enable == 0 && !self.write_back_all(ctx) {
                    return Err(Status::WRITE_FAULT);
                }
                enable
            }
            _ => value,
        };
        if let Some(feature) = self.features.0.get_mut(&id) {
            feature.current = value;
            feature.saved = if save { value } else { feature.saved };
        }
        if id == facts::FEATURE_TEMPERATURE {
            self.set_temperature(ctx, self.temperature);
        }
        Ok(if id == facts::FEATURE_QUEUES { value } else { 0 })
    }

    /// Number of queues: before the first of them only; no more than there are.
    fn grant_queues(&self, asked: u32) -> Result<u32, Status> {
        let (submissions, completions) = (facts::QUEUES_SUBMISSION.of32(asked), facts::QUEUES_COMPLETION.of32(asked));
        if submissions == 0xffff || completions == 0xffff {
            return Err(Status::INVALID_FIELD);
        }
        if self.queues_made {
            return Err(Status::SEQUENCE_ERROR);
        }
        let most = u32::from(self.config.queue_pairs) - 1;
        let granted = (submissions.min(most), completions.min(most));
        Ok(facts::QUEUES_SUBMISSION.put32(granted.0) | facts::QUEUES_COMPLETION.put32(granted.1))
    }

    pub(super) fn get_features(&self, entry: &Submission) -> Result<u32, Status> {
        let [selector, ..] = entry.dwords;
        let id = bits::low8(facts::FEATURE_ID.of32(selector).into());
        let feature = self.features.0.get(&id).filter(|_| self.has_feature(id)).ok_or(Status::INVALID_FIELD)?;
        for fault in &self.config.faults {
            match fault {
                Fault::GetFeatureFails { feature, half_word } if *feature == id => {
                    return Err(Status::from_bits(*half_word));
                }
                Fault::GetFeatureReads { feature, value } if *feature == id => return Ok(*value),
                _ => {}
            }
        }
        let select = facts::FEATURE_SELECT.of32(selector);
        if select != facts::SELECT_CURRENT && !self.config.optional.save_select {
            return Err(Status::INVALID_FIELD);
        }
        match select {
            facts::SELECT_CURRENT => Ok(feature.current),
            facts::SELECT_DEFAULT => Ok(feature.default),
            facts::SELECT_SAVED => Ok(if self.is_saveable(id) { feature.saved } else { feature.default }),
            facts::SELECT_CAPABILITIES => {
                Ok(facts::CAPABILITY_CHANGEABLE.put32(1)
                    | facts::CAPABILITY_SAVEABLE.put32(self.is_saveable(id).into()))
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }
}
