//! The filters of a level.

use myriad_conf::settings::{FilterSettings, Settings};

use super::Compile;
use super::place::media_types;
use crate::runtime::{BodyFilters, SubRules, TypeSet};

impl Compile<'_> {
    /// None where the level has no filter.
    pub(super) fn filters(&mut self, settings: &Settings) -> Option<Box<BodyFilters>> {
        let filters = &settings.filters;
        let compiled = BodyFilters {
            gunzip: filters.gunzip,
            sub: self.sub_filters(filters),
            converts: self.may_convert(settings),
        };
        (!compiled.is_empty()).then(|| Box::new(compiled))
    }

    fn sub_filters(&mut self, filters: &FilterSettings) -> Option<SubRules> {
        let pairs: Vec<_> = filters
            .sub
            .iter()
            .map(|pair| (self.template(&pair.pattern), self.template(&pair.replacement)))
            .collect();
        (!pairs.is_empty()).then(|| SubRules {
            pairs,
            once: filters.sub_once,
            last_modified: filters.sub_last_modified,
            types: TypeSet(media_types(&filters.sub_types)),
        })
    }
}
