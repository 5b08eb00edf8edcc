//! Declaration of variables, then compilation of their definitions: `map`, `geo`, `split_clients`, tables of features,
//! and log formats.

use myriad_conf::model::{LocationConf, Matcher, RewriteStep, ServerName};
use myriad_conf::settings::Settings;
use myriad_conf::{Span, Text};
use myriad_log::LogFormat;
use myriad_script::{EvaluationScope, ScriptError};

use super::{RuntimeCompiler, program};
use myriad_exchange::feature::{TableMaking, TableVariable};

impl RuntimeCompiler<'_> {
    /// Opens the tables (such as GeoIP databases) from which features compute variables. Errors are recorded.
    pub(super) fn tables(&mut self) -> Vec<TableVariable> {
        let log = self.error_log(&self.http.settings.log.error);
        let mut making =
            TableMaking { http: self.http, folder: self.environment.folder, log, errors: Vec::new() };
        let tables = crate::features::tables(&mut making);
        self.errors.append(&mut making.errors);
        tables
    }

    /// Declares every variable that the configuration defines, so that a variable may be used before its definition.
    pub(super) fn declare(&mut self, tables: &[TableVariable]) {
        for map in &self.http.maps {
            let (lines, spans) = map.lines();
            let declared = self.scripts.declare_map(&map.variable.lossy(), &lines);
            self.report(map.span, &spans, declared);
        }
        let lazies = self.http.geos.iter().map(|geo| &geo.variable);
        let lazies = lazies.chain(self.http.split_clients.iter().map(|split| &split.variable));
        for variable in lazies.chain(tables.iter().map(|table| &table.variable)) {
            if let Err(error) = self.scripts.declare_lazy(&variable.lossy()) {
                self.report_script_error(variable.span, error);
            }
        }
        self.declare_steps(&self.http.idle_steps, &self.http.settings);
        for server in &self.http.servers {
            self.declare_steps(&server.rewrite, &server.settings);
            self.declare_auth_request(&server.settings);
            for name in &server.names {
                if let ServerName::Regex(pattern) = name {
                    self.declare_captures(pattern);
                }
            }
            for location in &server.locations {
                self.declare_location(location);
            }
        }
    }

    fn declare_location(&mut self, location: &LocationConf) {
        if matches!(location.matcher, Matcher::Regex { .. }) {
            self.declare_captures(&location.pattern);
        }
        self.declare_steps(&location.rewrite, &location.settings);
        self.declare_auth_request(&location.settings);
        for nested in &location.locations {
            self.declare_location(nested);
        }
    }

    fn declare_captures(&mut self, pattern: &Text) {
        let source = self.utf8(pattern);
        if let Err(error) = self.scripts.declare_captures(source) {
            self.report_script_error(pattern.span, error);
        }
    }

    fn declare_steps(&mut self, steps: &[RewriteStep], settings: &Settings) {
        // Errors of functions are also reported when the program is compiled.
        let owned = program::OwnedSteps::from_steps(steps, settings, &mut Vec::new());
        if let Err(errors) = self.scripts.declare_program(&owned.sources(&mut Vec::new())) {
            // The same errors are reported with their positions when the program is compiled.
            drop(errors);
        }
    }

    /// Compiles the definitions of maps, geos, splits and tables, and the log formats.
    pub(super) fn define(&mut self, tables: Vec<TableVariable>) {
        self.define_lazies();
        self.define_tables(tables);
        self.define_formats();
    }

    fn define_lazies(&mut self) {
        for map in &self.http.maps {
            let (lines, spans) = map.lines();
            let source = map.source.lossy();
            let defined = self.scripts.define_map(&map.variable.lossy(), &source, &lines);
            self.report(map.span, &spans, defined);
        }
        for geo in &self.http.geos {
            let lines = geo.lines();
            let source = geo.source.as_ref().map(|source| format!("${}", source.lossy()));
            let defined = self.scripts.define_geo(&geo.variable.lossy(), source.as_deref(), &lines);
            self.report(geo.span, &[], defined);
        }
        for split in &self.http.split_clients {
            let lines = split.lines();
            let defined =
                self.scripts.define_split_clients(&split.variable.lossy(), &split.source.lossy(), &lines);
            let spans: Vec<Span> = split.shares.iter().map(|share| share.value.span).collect();
            self.report(split.span, &spans, defined);
        }
    }

    fn define_tables(&mut self, tables: Vec<TableVariable>) {
        for TableVariable { variable, sources, changes, table } in tables {
            let texts: Vec<&str> = sources.iter().map(|source| self.utf8(source)).collect();
            // A table that can change is treated like the clock: results that depend on it are not cached.
            let follows: &[&str] = if changes { &["$msec"] } else { &[] };
            let defined = self.scripts.define_table(&variable.lossy(), &texts, follows, table);
            let spans: Vec<Span> = sources.iter().map(|source| source.span).collect();
            self.report(variable.span, &spans, defined);
        }
    }

    fn define_formats(&mut self) {
        for format in &self.http.log_formats {
            let number = EvaluationScope::Shared(self.formats.len() as u32);
            let template = self.in_scope(number, |compile| compile.template(&format.format));
            self.formats.push(LogFormat { name: format.name.clone(), template, escape: format.escape });
        }
    }

    /// Reports errors of a block at the lines that caused them; an error without a line is reported at `head`.
    fn report(&mut self, head: Span, lines: &[Span], defined: Result<(), Vec<ScriptError>>) {
        for error in defined.err().into_iter().flatten() {
            let line = error.item.and_then(|line| lines.get(line)).copied();
            self.report_script_error(line.filter(|line| *line != Span::default()).unwrap_or(head), error);
        }
    }
}
