//! What a feature is to the rest.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use myriad_conf::model::HttpConf;
use myriad_conf::registry::{Directive, ExamineBlock, ExamineHttp, ExamineLocation, Family, FamilyRow};
use myriad_conf::settings::{FeatureHandler, Handler as HandlerConf, HandlerPlan, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_log::ErrorLog;
use myriad_script::Table;

use crate::exchange::Handler;
use crate::exchange::variables::Row;
use crate::runtime::{PlaceFeatures, SettingsCompiler};

/// A feature.
pub struct Feature {
    /// Its directives.
    pub family: Family,
    /// Its variables.
    pub variables: &'static [Row],
    /// Compiles its settings of a level, and keeps what comes of them.
    pub compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    /// Adds what it finds odd in a configuration that is sound.
    pub warn: fn(&HttpConf, &mut Vec<Diagnostic>),
    /// Opens the tables that compute variables whose names the configuration chooses.
    pub tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>,
}

impl Feature {
    /// A feature with nothing to compile: what it brings is a handler, or asked for where it is used. Its directives stand in that
    /// section of the docs.
    pub const fn new(section: &'static str, rows: &'static [Directive]) -> Self {
        Self {
            family: Family::new(section, rows),
            variables: &[],
            compile: |_, _, _| {},
            warn: |_, _| {},
            tables: |_| Vec::new(),
        }
    }

    /// A feature with directives that every protocol of origins has, under its prefix.
    #[must_use]
    pub const fn and_of_origins(self, rows: &'static [FamilyRow]) -> Self {
        Self { family: self.family.and_of_origins(rows), ..self }
    }

    /// A feature that says of each location and each `if` what only the whole of it shows.
    #[must_use]
    pub const fn examining_blocks(self, examine: ExamineBlock) -> Self {
        Self { family: self.family.examining_blocks(examine), ..self }
    }

    /// A feature that says of each location what only the whole of it shows.
    #[must_use]
    pub const fn examining_locations(self, examine: ExamineLocation) -> Self {
        Self { family: self.family.examining_locations(examine), ..self }
    }

    /// A feature that says what only the whole configuration shows.
    #[must_use]
    pub const fn examining_http(self, examine: ExamineHttp) -> Self {
        Self { family: self.family.examining_http(examine), ..self }
    }

    /// A feature that warns of a sound configuration what is probably a mistake in it.
    #[must_use]
    pub const fn warning_by(self, warn: fn(&HttpConf, &mut Vec<Diagnostic>)) -> Self {
        Self { warn, ..self }
    }

    /// A feature whose settings are compiled by that function.
    #[must_use]
    pub const fn compiled_by(
        self,
        compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    ) -> Self {
        Self { compile, ..self }
    }

    /// A feature whose tables compute variables that the configuration names.
    #[must_use]
    pub const fn with_tables(self, tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>) -> Self {
        Self { tables, ..self }
    }

    /// A feature with these variables.
    #[must_use]
    pub const fn with_variables(self, variables: &'static [Row]) -> Self {
        Self { variables, ..self }
    }
}

/// What a feature opens its tables with.
pub struct TableMaking<'a> {
    /// The block: `http` or `stream`.
    pub http: &'a HttpConf,
    /// Folder of the main configuration file, where relative paths begin.
    pub folder: &'a Path,
    /// Where a table tells of trouble while it is used: the error log of the block.
    pub log: ErrorLog,
    /// Errors, by which the configuration is refused. The variables are defined all the same, so that these errors are all.
    pub errors: Vec<Diagnostic>,
}

/// A variable that a table computes.
pub struct TableVariable {
    /// Its name, without the `$`.
    pub variable: Text,
    /// Texts with variables that the table is asked with.
    pub sources: Vec<Text>,
    /// Whether the table may change while the configuration is used.
    pub changes: bool,
    /// What computes the value.
    pub table: Arc<dyn Table>,
}

/// What the directive of a content handler says.
pub trait PlannedHandler: Debug + Send + Sync {
    /// Makes the handler; `prefix` is what the location matches by, empty where that is no prefix. None where what the directive
    /// names is not there, which has been reported.
    fn make(&self, compile: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>>;
}

/// A [`PlannedHandler`] as the configuration keeps it.
#[derive(Debug)]
struct Plan(Box<dyn PlannedHandler>);

impl HandlerPlan for Plan {}

/// What a handler's directive sets.
pub fn planned(handler: impl PlannedHandler + 'static) -> HandlerConf {
    HandlerConf::Feature(FeatureHandler::new(Plan(Box::new(handler))))
}

/// Makes the handler that a feature has planned; none where that cannot be.
pub fn made(compile: &mut dyn SettingsCompiler, handler: &FeatureHandler) -> Option<Box<dyn Handler>> {
    handler.plan::<Plan>().and_then(|plan| plan.0.make(compile, handler.prefix.bytes()))
}
