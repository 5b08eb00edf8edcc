//! Interface between a feature and the rest of the server.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use myriad_conf::model::HttpConf;
use myriad_conf::registry::{
    Directive, DirectiveFamily, ExamineBlock, ExamineHttp, ExamineLocation, FamilyRow,
};
use myriad_conf::settings::{FeatureHandler, Handler as HandlerConf, HandlerPlan, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_log::ErrorLog;
use myriad_script::VariableTable;

use crate::exchange::Handler;
use crate::exchange::variables::RequestVariable;
use crate::runtime::{PlaceFeatures, SettingsCompiler};

/// Feature: directives, variables and their compilation.
pub struct Feature {
    /// Directives of the feature.
    pub family: DirectiveFamily,
    /// Variables of the feature.
    pub variables: &'static [RequestVariable],
    /// Compiles the settings of a configuration level and stores the result in the place.
    pub compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    /// Adds warnings about suspicious parts of a valid configuration.
    pub warn: fn(&HttpConf, &mut Vec<Diagnostic>),
    /// Opens the tables that compute variables whose names are chosen by the configuration.
    pub tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>,
}

impl Feature {
    /// Creates a feature with nothing to compile, because it provides a handler or is looked up where it is used. Its
    /// directives are documented in `section`.
    pub const fn new(section: &'static str, rows: &'static [Directive]) -> Self {
        Self {
            family: DirectiveFamily::new(section, rows),
            variables: &[],
            compile: |_, _, _| {},
            warn: |_, _| {},
            tables: |_| Vec::new(),
        }
    }

    /// Adds directives that exist for every origin protocol, each under the prefix of the protocol.
    #[must_use]
    pub const fn and_of_origins(self, rows: &'static [FamilyRow]) -> Self {
        Self { family: self.family.and_of_origins(rows), ..self }
    }

    /// Adds a check of each complete location and each complete `if` block.
    #[must_use]
    pub const fn examining_blocks(self, examine: ExamineBlock) -> Self {
        Self { family: self.family.examining_blocks(examine), ..self }
    }

    /// Adds a check of each complete location.
    #[must_use]
    pub const fn examining_locations(self, examine: ExamineLocation) -> Self {
        Self { family: self.family.examining_locations(examine), ..self }
    }

    /// Adds a check of the complete configuration.
    #[must_use]
    pub const fn examining_http(self, examine: ExamineHttp) -> Self {
        Self { family: self.family.examining_http(examine), ..self }
    }

    /// Adds a function that warns about probable mistakes in a valid configuration.
    #[must_use]
    pub const fn warning_by(self, warn: fn(&HttpConf, &mut Vec<Diagnostic>)) -> Self {
        Self { warn, ..self }
    }

    /// Sets the function that compiles the settings of the feature.
    #[must_use]
    pub const fn compiled_by(
        self,
        compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    ) -> Self {
        Self { compile, ..self }
    }

    /// Sets the function that opens the tables of variables named by the configuration.
    #[must_use]
    pub const fn with_tables(self, tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>) -> Self {
        Self { tables, ..self }
    }

    /// Sets the variables of the feature.
    #[must_use]
    pub const fn with_variables(self, variables: &'static [RequestVariable]) -> Self {
        Self { variables, ..self }
    }
}

/// Context in which a feature opens its tables.
pub struct TableMaking<'a> {
    /// Configuration block: `http` or `stream`.
    pub http: &'a HttpConf,
    /// Folder of the main configuration file, against which relative paths are resolved.
    pub folder: &'a Path,
    /// Error log of the block, to which a table reports errors while it is in use.
    pub log: ErrorLog,
    /// Errors that make the configuration invalid. The variables are defined nevertheless, so that no consequential
    /// errors are reported.
    pub errors: Vec<Diagnostic>,
}

/// Variable that a table computes.
pub struct TableVariable {
    /// Name of the variable, without the `$`.
    pub variable: Text,
    /// Texts with variables whose values are the input of the table.
    pub sources: Vec<Text>,
    /// True if the table can change while the configuration is in use.
    pub changes: bool,
    /// Table that computes the value.
    pub table: Arc<dyn VariableTable>,
}

/// Parsed directive of a content handler.
pub trait PlannedHandler: Debug + Send + Sync {
    /// Creates the handler. `prefix` is the prefix that the location matches, empty if it does not match by prefix.
    /// Returns `None` if the directive names an object that does not exist; the error has been reported then.
    fn make(&self, compile: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>>;
}

/// [`PlannedHandler`] in the form that the configuration stores.
#[derive(Debug)]
struct StoredHandlerPlan(Box<dyn PlannedHandler>);

impl HandlerPlan for StoredHandlerPlan {}

/// Returns the configuration value that the directive of a handler sets.
pub fn plan_handler(handler: impl PlannedHandler + 'static) -> HandlerConf {
    HandlerConf::Feature(FeatureHandler::new(StoredHandlerPlan(Box::new(handler))))
}

/// Creates the handler that a feature has planned; `None` if it cannot be created.
pub fn make_handler(
    compile: &mut dyn SettingsCompiler,
    handler: &FeatureHandler,
) -> Option<Box<dyn Handler>> {
    handler.plan::<StoredHandlerPlan>().and_then(|plan| plan.0.make(compile, handler.prefix.bytes()))
}
