//! The filters of a level.

use myriad_conf::settings::{FilterSettings, Settings, SsiSettings};

use super::Compile;
use super::place::media_types;
use crate::runtime::{BodyFilters, SsiRules, SubRules, TypeSet};

impl Compile<'_> {
    /// None where the level has no filter.
    pub(super) fn filters(&mut self, settings: &Settings) -> Option<Box<BodyFilters>> {
        let filters = &settings.filters;
        let compiled = BodyFilters {
            gunzip: filters.gunzip,
            sub: self.sub_filters(filters),
            ssi: ssi(&settings.ssi),
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

fn ssi(settings: &SsiSettings) -> Option<SsiRules> {
    settings.on.then(|| SsiRules {
        page: myriad_ssi::Rules {
            value_length: usize::try_from(settings.value_length).unwrap_or(usize::MAX),
            silent_errors: settings.silent_errors,
        },
        last_modified: settings.last_modified,
        types: TypeSet(media_types(&settings.types)),
    })
}
