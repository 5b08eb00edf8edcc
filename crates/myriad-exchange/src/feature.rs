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

/// Optional feature of the server: its directives and variables, and the functions that compile them.
pub struct Feature {
    /// Directives of the feature, and the checks of their use.
    pub family: DirectiveFamily,
    /// Definitions of the variables that the feature adds.
    pub variables: &'static [RequestVariable],
    /// Function that compiles the feature's settings of a configuration level (server, location, …), and adds the
    /// result to the compiled features of the level.
    pub compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    /// Function that appends warnings about probable mistakes in a valid configuration to the list.
    pub warn: fn(&HttpConf, &mut Vec<Diagnostic>),
    /// Function that opens the tables of the variables whose names the configuration chooses (such as those of
    /// `geoip2`).
    pub tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>,
}

impl Feature {
    /// Creates a feature with directives, but without variables, checks, tables and compilation. `section` is the
    /// section of the manual that documents its directives.
    pub const fn new(section: &'static str, rows: &'static [Directive]) -> Self {
        Self {
            family: DirectiveFamily::new(section, rows),
            variables: &[],
            compile: |_, _, _| {},
            warn: |_, _| {},
            tables: |_| Vec::new(),
        }
    }

    /// Adds directives that exist for every origin protocol, with the protocol's prefix (`proxy_…`, `fastcgi_…`).
    #[must_use]
    pub const fn and_of_origins(self, rows: &'static [FamilyRow]) -> Self {
        Self { family: self.family.and_of_origins(rows), ..self }
    }

    /// Adds a check that runs on each location and each `if` block once it is parsed completely.
    #[must_use]
    pub const fn examining_blocks(self, examine: ExamineBlock) -> Self {
        Self { family: self.family.examining_blocks(examine), ..self }
    }

    /// Adds a check that runs on each location once it is parsed completely.
    #[must_use]
    pub const fn examining_locations(self, examine: ExamineLocation) -> Self {
        Self { family: self.family.examining_locations(examine), ..self }
    }

    /// Adds a check that runs on the complete configuration.
    #[must_use]
    pub const fn examining_http(self, examine: ExamineHttp) -> Self {
        Self { family: self.family.examining_http(examine), ..self }
    }

    /// Sets the function that warns about probable mistakes in a valid configuration.
    #[must_use]
    pub const fn warning_by(self, warn: fn(&HttpConf, &mut Vec<Diagnostic>)) -> Self {
        Self { warn, ..self }
    }

    /// Sets the function that compiles the feature's settings for a server, location or other level.
    #[must_use]
    pub const fn compiled_by(
        self,
        compile: fn(&mut dyn SettingsCompiler, &Settings, &mut PlaceFeatures),
    ) -> Self {
        Self { compile, ..self }
    }

    /// Sets the function that opens the tables of variables whose names the configuration chooses.
    #[must_use]
    pub const fn with_tables(self, tables: fn(&mut TableMaking<'_>) -> Vec<TableVariable>) -> Self {
        Self { tables, ..self }
    }

    /// Returns the feature with these variables instead of its variables so far.
    #[must_use]
    pub const fn with_variables(self, variables: &'static [RequestVariable]) -> Self {
        Self { variables, ..self }
    }
}

/// Input and output of [`Feature::tables`].
pub struct TableMaking<'a> {
    /// Configuration block that contains the variables' directives: `http` or `stream`.
    pub http: &'a HttpConf,
    /// Folder of the main configuration file, against which relative paths are resolved.
    pub folder: &'a Path,
    /// Error log of the block, to which tables report errors at run time.
    pub log: ErrorLog,
    /// Errors that make the configuration invalid. A table with an error still defines its variables, so that their
    /// uses are not reported as errors, too.
    pub errors: Vec<Diagnostic>,
}

/// Variable whose value a table computes, such as a `geoip2` variable.
pub struct TableVariable {
    /// Name of the variable, without the `$`.
    pub variable: Text,
    /// Texts that are evaluated for each request; their values are the input of the table.
    pub sources: Vec<Text>,
    /// True if the table's values can change while the configuration is in use.
    pub changes: bool,
    /// Table that computes the values of the variable.
    pub table: Arc<dyn VariableTable>,
}

/// Parsed directive that selects the content handler of a location, such as `proxy_pass`, from which the handler can be
/// created.
pub trait PlannedHandler: Debug + Send + Sync {
    /// Creates the content handler. `prefix` is the prefix of the location, empty if the location does not match by
    /// prefix. Returns `None`, after reporting the error, if the directive names an object that does not exist.
    fn make(&self, compile: &mut dyn SettingsCompiler, prefix: &[u8]) -> Option<Box<dyn Handler>>;
}

/// Wrapper with which the configuration model stores a [`PlannedHandler`].
#[derive(Debug)]
struct StoredHandlerPlan(Box<dyn PlannedHandler>);

impl HandlerPlan for StoredHandlerPlan {}

/// Returns the value that a handler's directive sets in the configuration model.
pub fn plan_handler(handler: impl PlannedHandler + 'static) -> HandlerConf {
    HandlerConf::Feature(FeatureHandler::new(StoredHandlerPlan(Box::new(handler))))
}

/// Creates the handler from the value set by [`plan_handler`]; `None` if it cannot be created.
pub fn make_handler(
    compile: &mut dyn SettingsCompiler,
    handler: &FeatureHandler,
) -> Option<Box<dyn Handler>> {
    handler.plan::<StoredHandlerPlan>().and_then(|plan| plan.0.make(compile, handler.prefix.bytes()))
}
