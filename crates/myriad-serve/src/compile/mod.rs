//! Compiler from the configuration model to the runtime.

mod acme;
mod alt_svc;
mod cache;
mod config_positions;
mod fields;
mod for_features;
mod for_origins;
mod gate;
mod headers;
mod logs;
mod origin;
mod place;
mod program;
mod purge;
mod resolver;
mod scripts;
mod server;
mod shared_fetch;
mod shortcut;
#[cfg(feature = "stream")]
mod stream;
mod timeouts;
mod tls;
mod traffic;
mod unused_settings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::model::{HttpConf, ServerName};
use myriad_conf::settings::Types;
use myriad_conf::{Diagnostic, Model, Span, Text};
use myriad_log::{LogFormat, Logs};
use myriad_script::{Compiler, EvaluationScope, ScriptError, Template};
use myriad_tls::TlsFiles;
use myriad_upstream::{PeerStates, ResolverConfig};

use crate::streams::{self, StreamRuntime};
use myriad_access::{self as gates, GateBuilder};
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::VariableNames;
use myriad_exchange::pressure::Pressure;
use myriad_exchange::runtime::{
    AcmePlan, ConfigPositions, LoadInfo, MediaTypes, OriginGroup, Place, PlannedStaple, Reads, Runtime,
    Shared, Shortcut, TrustedForwarders, VariableRef, VirtualServer,
};
use myriad_exchange::traffic::Traffic;
use myriad_store::page::PageZone;
use parking_lot::Mutex;

/// State that a reload passes from the previous configuration to the next.
#[derive(Default)]
pub(crate) struct RetainedState {
    /// Cache zones, by name.
    pub zones: HashMap<String, Arc<PageZone>>,
    /// State of upstream peers: failures and results of health checks, resolved names, servers edited by
    /// administrators, and sessions of `sticky learn`.
    pub peers: PeerStates,
    /// State of access checks, such as the counts of `limit_req` and `limit_conn` zones.
    pub gate: gates::PersistentCheckState,
    /// TLS session caches, ticket keys and OCSP responses.
    pub tls: myriad_tls::TlsReloadState,
    /// State of the `stream` block: health of its upstream peers and counts of its connection limits.
    pub stream: streams::StreamReloadState,
    /// Traffic counters of servers and locations (`status_zone`).
    pub traffic: Arc<Traffic>,
    /// Memory pressure of the process, as published to all threads.
    pub pressure: Arc<Pressure>,
    /// Certificates obtained by ACME, in slots that servers share, and responses to pending challenges.
    pub acme: myriad_tls::AcmeOrders,
    /// Number of configurations that have been started so far, including the current one.
    pub generations: u64,
}

/// Inputs for compiling a configuration, besides its parsed form (the model).
pub(crate) struct CompileEnvironment<'a> {
    /// Folder against which relative paths are resolved, such as those of logs and cache zones, except those for which
    /// `folder` is used.
    pub prefix: &'a Path,
    /// Folder of the main configuration file, against which relative names of password, certificate and key files and
    /// of lookup tables are resolved.
    pub folder: &'a Path,
    /// Contents of certificate and key files.
    pub tls_files: &'a TlsFiles,
    /// Listener numbers, by address name; empty for a configuration check, which opens no sockets.
    pub listeners: &'a HashMap<String, u32>,
    /// Open log files of the process, by path.
    pub logs: &'a Logs,
    /// State retained from the previous configuration; new zones are added to it.
    pub retained: &'a mut RetainedState,
}

impl CompileEnvironment<'_> {
    /// Returns the inputs for the compilation of the `stream` block, borrowed from these inputs.
    #[cfg(feature = "stream")]
    fn for_stream(&mut self) -> myriad_origin::stream::StreamCompileInputs<'_> {
        myriad_origin::stream::StreamCompileInputs {
            prefix: self.prefix,
            listeners: self.listeners,
            logs: self.logs,
            reload_state: &mut self.retained.stream,
            files: myriad_tls::TlsFileReader { read: self.tls_files, folder: self.folder },
            tls: &mut self.retained.tls,
            resolver: stream::RESOLVER,
            folder: self.folder,
            tables: crate::features::tables,
            traffic: &self.retained.traffic,
            zone: traffic::stream_server_zone,
        }
    }

    /// Compiles the `stream` block; `None` if the model has none. Returns all errors of the block.
    #[cfg(feature = "stream")]
    fn stream(&mut self, model: &Model) -> Result<Option<Arc<StreamRuntime>>, Vec<Diagnostic>> {
        stream::stream(model, self.for_stream())
    }

    /// Returns `None`: without the Cargo feature `stream`, a model has no `stream` block.
    #[cfg(not(feature = "stream"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "interface of the compiled part")]
    fn stream(&mut self, _model: &Model) -> Result<Option<Arc<StreamRuntime>>, Vec<Diagnostic>> {
        Ok(None)
    }
}

/// Compiles the model only to find errors in the texts of directives (templates, regexes, certificates), and returns
/// them.
///
/// `folder` is that of the main configuration file. `tls_files` contains the files required by
/// [`myriad_tls::tls_files`].
pub fn check(model: &Model, folder: &Path, tls_files: &TlsFiles) -> Result<(), Vec<Diagnostic>> {
    let mut retained = RetainedState::default();
    let logs = Logs::without_outputs();
    let mut surroundings = CompileEnvironment {
        prefix: Path::new("/"),
        folder,
        tls_files,
        listeners: &HashMap::new(),
        logs: &logs,
        retained: &mut retained,
    };
    surroundings.retained.tls.begin_compilation();
    let stream = surroundings.stream(model);
    let http = compile_and(model, surroundings, unused_settings::check_unused);
    join_results(http, stream).map(drop)
}

/// Compiled `http` block, and the compiled `stream` block if it exists.
pub(crate) type CompiledRuntimes = (Arc<Runtime>, Option<Arc<StreamRuntime>>);

/// Compiles the `http` and `stream` blocks of a model. Returns the errors of both blocks if either has any.
pub(crate) fn compile_all(
    model: &Model,
    mut surroundings: CompileEnvironment<'_>,
) -> Result<CompiledRuntimes, Vec<Diagnostic>> {
    surroundings.retained.tls.begin_compilation();
    let stream = surroundings.stream(model);
    let http = compile_and(model, surroundings, |_| {});
    join_results(http, stream).map(|(mut http, stream)| {
        http.stream_groups = stream.iter().flat_map(|stream| stream.controls()).collect();
        http.stream_resolvers = stream.iter().flat_map(|stream| stream.resolvers().to_vec()).collect();
        http.traffic_zones.extend(stream.iter().flat_map(|stream| stream.traffic_zones()));
        http.limits.sessions = stream.iter().flat_map(|stream| stream.limits().to_vec()).collect();
        (Arc::new(http), stream)
    })
}

/// Returns the values of both results; if at least one is an error, the errors of both.
fn join_results<A, B>(
    one: Result<A, Vec<Diagnostic>>,
    other: Result<B, Vec<Diagnostic>>,
) -> Result<(A, B), Vec<Diagnostic>> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (one, other) => Err([one.err(), other.err()].into_iter().flatten().flatten().collect()),
    }
}

/// Compiles the `http` block of a model; without the block, an empty one. Returns all errors of the block.
pub(crate) fn compile(
    model: &Model,
    surroundings: CompileEnvironment<'_>,
) -> Result<Runtime, Vec<Diagnostic>> {
    surroundings.retained.tls.begin_compilation();
    compile_and(model, surroundings, |_| {})
}

/// Compiles the `http` block like [`compile`], and calls `also` with the compiler before the runtime is built from it.
fn compile_and(
    model: &Model,
    surroundings: CompileEnvironment<'_>,
    also: fn(&mut RuntimeCompiler<'_>),
) -> Result<Runtime, Vec<Diagnostic>> {
    let empty;
    let http = if let Some(http) = &model.http {
        http
    } else {
        empty = HttpConf::bare(crate::registry());
        &empty
    };
    let mut compile = RuntimeCompiler::new(model, http, surroundings);
    let tables = compile.tables();
    compile.declare(&tables);
    compile.define(tables);
    // Rewrite directives in `http` are never executed; they are compiled only to report errors.
    compile.steps(&http.idle_steps, &http.settings);
    compile.limit_zones();
    compile.upstreams();
    let servers: Vec<VirtualServer> = http.servers.iter().map(|server| compile.server(server)).collect();
    let listeners = compile.listeners();
    let acme = compile.acme_plan();
    also(&mut compile);
    compile.finish(servers, listeners, acme)
}

/// Compilation of the `http` block in progress. Errors are collected, so that all errors of a file are reported
/// together.
struct RuntimeCompiler<'a> {
    model: &'a Model,
    http: &'a HttpConf,
    environment: CompileEnvironment<'a>,
    scripts: Compiler<VariableNames>,
    errors: Vec<Diagnostic>,
    places: Vec<Place>,
    /// Compiled media types, by the address of their table in the model, so that levels with the same table share them.
    types: HashMap<*const Types, Arc<MediaTypes>>,
    /// True if any `listen` of the configuration has the parameter `http2`.
    listens_http2: bool,
    formats: Vec<LogFormat>,
    groups: HashMap<String, Arc<OriginGroup>>,
    resolvers: Vec<Arc<ResolverConfig>>,
    shared: Shared,
    gates: Rc<GateBuilder>,
    /// Names of the server being compiled.
    server_names: Vec<ServerName>,
    /// `Alt-Svc` line of the server being compiled.
    alt_svc: Box<[u8]>,
    /// Name or pattern of the location being compiled; empty outside of locations.
    location_name: Vec<u8>,
    atlas: ConfigPositions,
    /// OCSP responses that the stapling thread fetches.
    staples: Vec<PlannedStaple>,
    /// Ranges of indices into `places` of those servers that verify client certificates.
    verifying_places: Vec<std::ops::Range<usize>>,
}

impl<'a> RuntimeCompiler<'a> {
    fn new(model: &'a Model, http: &'a HttpConf, around: CompileEnvironment<'a>) -> Self {
        Self {
            model,
            http,
            environment: around,
            scripts: Compiler::new(VariableNames::new(crate::variables())),
            errors: Vec::new(),
            places: Vec::with_capacity(http.levels().len()),
            types: HashMap::new(),
            listens_http2: http.servers.iter().flat_map(|server| &server.listens).any(|listen| listen.http2),
            formats: Vec::new(),
            groups: HashMap::new(),
            resolvers: Vec::new(),
            shared: Shared::default(),
            gates: Rc::default(),
            server_names: Vec::new(),
            alt_svc: Box::default(),
            location_name: Vec::new(),
            atlas: ConfigPositions::default(),
            staples: Vec::new(),
            verifying_places: Vec::new(),
        }
    }

    fn finish(
        self,
        servers: Vec<VirtualServer>,
        listeners: HashMap<u32, myriad_exchange::runtime::ListenerHosts>,
        acme: Option<Box<AcmePlan>>,
    ) -> Result<Runtime, Vec<Diagnostic>> {
        let disk_limits = self.disk_limits();
        let mut zones = self.environment.retained.zones.clone();
        zones.retain(|name, _| disk_limits.contains_key(name));
        let zone_list = self.http.cache_zones.iter().map(|conf| zones.get(&conf.name).cloned()).collect();
        let zone_log = self.error_log(&self.http.settings.log.error);
        let limits = self.gates.counts();
        let forwarded = crate::features::forwarded::compiled(&self.http.settings);
        let loaded = LoadInfo {
            generation: self.environment.retained.generations + 1,
            at_ms: myriad_net::clock::wall_ms(),
        };
        let Self {
            model,
            environment: around,
            scripts,
            mut errors,
            mut places,
            formats,
            groups,
            resolvers,
            atlas,
            verifying_places: judging,
            staples,
            ..
        } = self;
        let names = places.iter().any(|place| place.filters.read_by_name()).then(|| {
            scripts.variables().map(|variable| (variable.name().into(), Arc::clone(variable))).collect()
        });
        let compiled = finish_scripts(scripts, &mut places, judging, &forwarded);
        // Errors of declared names have already been reported with their positions.
        if let Err(found) = &compiled
            && errors.is_empty()
        {
            errors.extend(found.iter().map(|error| script_diagnostic(Span::default(), error.clone())));
        }
        let Ok(FinishedScripts { variables, shortcut }) = compiled else { return Err(errors) };
        if !errors.is_empty() {
            return Err(errors);
        }
        let traffic_zones = traffic::unique_zones(&servers, &places);
        let is_read = |what| variables.iter().any(|variable| variable.reads(what));
        Ok(Runtime {
            prefix: around.prefix.to_owned(),
            hostname: rustix::system::uname().nodename().to_bytes().to_ascii_lowercase().into(),
            debugged: model.main.debug_connections.clone(),
            forwarded,
            listeners: listeners_by_number(listeners),
            servers,
            acme,
            staples,
            places,
            reads_sent_fields: is_read(Reads::SentFields),
            origin_fields: variables
                .iter()
                .filter_map(|variable| Some(variable.origin_field()?.into()))
                .collect(),
            reads_tls_offer: is_read(Reads::Offer),
            names_bodies: is_read(Reads::BodyFile),
            variable_registry: crate::variables(),
            variables,
            names,
            shortcut,
            formats,
            zones,
            zone_list,
            cluster: Mutex::default(),
            disk_limits,
            zone_log,
            groups,
            stream_groups: Vec::new(),
            limits,
            stream_resolvers: Vec::new(),
            loaded,
            resolvers,
            positions: atlas,
            traffic: Arc::clone(&around.retained.traffic),
            pressure: Arc::clone(&around.retained.pressure),
            traffic_zones,
        })
    }

    /// Runs `work`, which compiles texts. The variables in these texts count as read by the rules, because they
    /// determine how a request is routed, or its cache key.
    fn in_rules<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.in_scope(EvaluationScope::Rules, work)
    }

    /// Runs `work`, which compiles texts. The variables in these texts count as read by the response of the current
    /// level (head, body, log lines). They are evaluated after the content is found, even for a request for which a
    /// stored routing result (shortcut) replaces the rules.
    fn in_answer<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.in_scope(EvaluationScope::Answer(self.places.len() as u32), work)
    }

    /// Runs `work`, which compiles texts such as access checks and requests to an origin. Their variables are evaluated
    /// only for requests that have run all rules, never for those that use a stored routing result (shortcut).
    fn after_all_rules<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.in_scope(EvaluationScope::AfterRules, work)
    }

    fn in_scope<R>(&mut self, scope: EvaluationScope, work: impl FnOnce(&mut Self) -> R) -> R {
        let around = self.scripts.set_scope(scope);
        let result = work(self);
        self.scripts.set_scope(around);
        result
    }

    /// Returns the text as UTF-8, which scripts require. If it is not UTF-8, reports an error and returns an empty
    /// text.
    fn utf8<'t>(&mut self, text: &'t Text) -> &'t str {
        text.as_str().unwrap_or_else(|| {
            self.errors.push(Diagnostic::error(text.span, "the text is not valid UTF-8"));
            ""
        })
    }

    fn template(&mut self, text: &Text) -> Template {
        let source = self.utf8(text);
        match self.scripts.template(source) {
            Ok(template) => template,
            Err(error) => {
                self.report_script_error(text.span, error);
                Template::constant(b"")
            }
        }
    }

    fn report_script_error(&mut self, span: Span, error: ScriptError) {
        self.errors.push(script_diagnostic(span, error));
    }

    /// Resolves a path of the configuration against the prefix folder.
    fn absolute_path(&self, path: &Text) -> PathBuf {
        self.environment.prefix.join(myriad_files::as_path(path.bytes()))
    }
}

/// Compiled templates, regexes and rewrite rules of the whole configuration.
struct FinishedScripts {
    /// Variables that the configuration uses.
    variables: Vec<VariableRef<Request>>,
    /// Parts of a request by which its routing result is stored and found again, so that rules need not run (shortcut);
    /// `None` if the rules read more than such parts, or call a function whose value varies.
    shortcut: Option<Shortcut>,
}

/// Finishes the scripts of the configuration. Sets for which places (compiled levels) a stored routing result may
/// replace the rules (shortcut): not for those in the ranges `judging`, whose servers verify client certificates.
/// Returns the errors of the scripts.
fn finish_scripts(
    scripts: Compiler<VariableNames>,
    places: &mut [Place],
    judging: Vec<std::ops::Range<usize>>,
    forwarded: &TrustedForwarders,
) -> Result<FinishedScripts, Vec<ScriptError>> {
    let read_by_rules = scripts.reads(EvaluationScope::Rules);
    let answer = |number| scripts.reads(EvaluationScope::Answer(number as u32));
    let answers: Vec<_> = (0..places.len()).map(answer).collect();
    let names = scripts.finish()?;
    shared_fetch::set_device_dependence(places, &names, &read_by_rules.builtins);
    let mut shortcut = None;
    if !read_by_rules.varies {
        shortcut = shortcut::parts_read_by_rules(
            read_by_rules.builtins.iter().map(|id| names.variable(*id)),
            forwarded,
        );
    }
    shortcut::allow_shortcuts(places, &answers, &names);
    for place in judging.into_iter().flatten() {
        places[place].shortcut = false;
    }
    Ok(FinishedScripts { variables: names.into_used(), shortcut })
}

/// Converts an error of a script into a diagnostic at `span`.
fn script_diagnostic(span: Span, error: ScriptError) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(span, error.message);
    if let Some(cause) = error.cause {
        diagnostic = diagnostic.cause(cause);
    }
    match error.undefined {
        Some(name) => diagnostic.undefined(name),
        None => diagnostic,
    }
}

/// Converts the map of listeners into a list indexed by listener number; unused numbers are `None`.
fn listeners_by_number(
    mut listeners: HashMap<u32, myriad_exchange::runtime::ListenerHosts>,
) -> Vec<Option<myriad_exchange::runtime::ListenerHosts>> {
    let count = listeners.keys().max().map_or(0, |most| most + 1);
    (0..count).map(|number| listeners.remove(&number)).collect()
}
