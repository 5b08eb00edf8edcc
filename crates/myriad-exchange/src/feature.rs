//! What a feature is to the rest.

use std::fmt::Debug;

use myriad_conf::registry::{Directive, FamilyRow};
use myriad_conf::settings::{FeatureHandler, Handler as HandlerConf, HandlerPlan, Settings};

use crate::exchange::Handler;
use crate::runtime::{PlaceFeatures, SettingsCompiler};

/// A feature.
pub struct Feature {
    /// The section of the docs that its directives stand in.
    pub section: &'static str,
    /// Its directives.
    pub rows: &'static [Directive],
    /// Those that every protocol of origins has, under its prefix.
    pub of_origins: &'static [FamilyRow],
    /// Compiles its settings of a level, and keeps what comes of them.
    pub compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
}

impl Feature {
    /// A feature with nothing to compile: what it brings is a handler, or asked for where it is used.
    pub const fn new(section: &'static str, rows: &'static [Directive]) -> Self {
        Self { section, rows, of_origins: &[], compile: |_, _, _| {} }
    }

    /// A feature whose settings are compiled by that function.
    #[must_use]
    pub const fn compiled_by(
        self,
        compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    ) -> Self {
        Self { compile, ..self }
    }
}

/// What the directive of a content handler says.
pub trait PlannedHandler: Debug + Send + Sync {
    /// Makes the handler; `prefix` is what the location matches by, empty where that is no prefix.
    fn make(&self, compile: &mut dyn SettingsCompiler, prefix: &[u8]) -> Box<dyn Handler>;
}

/// A [`PlannedHandler`] as the configuration keeps it.
#[derive(Debug)]
struct Plan(Box<dyn PlannedHandler>);

impl HandlerPlan for Plan {}

/// What a handler's directive sets.
pub fn planned(handler: impl PlannedHandler + 'static) -> HandlerConf {
    HandlerConf::Feature(FeatureHandler::new(Plan(Box::new(handler))))
}

/// Makes the handler that a feature has planned.
pub fn made(compile: &mut dyn SettingsCompiler, handler: &FeatureHandler) -> Option<Box<dyn Handler>> {
    handler.plan::<Plan>().map(|plan| plan.0.make(compile, handler.prefix.bytes()))
}
