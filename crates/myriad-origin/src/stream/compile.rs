//! Compilation of the `stream` block to a [`StreamRuntime`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_access::SharedLimitZone;
use myriad_access::access::AccessSettings;
use myriad_conf::model::{HttpConf, ServerConf, ServerName, UpstreamConf};
use myriad_conf::settings::{self, Settings};
use myriad_conf::{Diagnostic, Model, Span, Text};
use myriad_exchange::feature::{TableMaking, TableVariable};
use myriad_exchange::runtime::{ListenerHosts, NamedPair, ServerId, ServerTls};
use myriad_exchange::traffic::{Traffic, TrafficZone};
use myriad_log::{AccessLog, ErrorLog, LogBuffering, LogFormat, LogTarget, Logs};
use myriad_script::{Compiler, Predicates, ScriptError, ServerNames, Template};
use myriad_tls::{ClientRules, NamedCertificates, OriginTlsConfig, ServerParts, TlsFileReader};
use myriad_upstream::{Group, GroupConfig, PeerAddress, PeerConfig, PeerStates, ResolverConfig};

use crate::stream::health_check;
use crate::stream::limits::{self, SessionLimits};
use crate::stream::names::StreamNames;
use crate::stream::runtime::{PeerTls, StreamContent, StreamGroup, StreamRuntime, StreamServer};
use crate::stream::settings::StreamSettings;
use crate::stream::sockets::PassTargets;
use crate::stream::variables;

/// State of the `stream` block that is retained over reloads.
#[derive(Default)]
pub struct StreamReloadState {
    peers: PeerStates,
    limits: limits::LimitTables,
}

impl StreamReloadState {
    /// Removes the state that the running configuration `model` does not use, and applies the zone sizes of this
    /// configuration.
    pub fn settle(&mut self, model: &Model) {
        self.peers.prune();
        self.limits.apply_zone_sizes(model.stream.as_ref());
    }

    /// Returns the limit zones of the active configuration whose limits apply to all nodes of a cluster together.
    pub fn shared_limit_zones(&self, model: &Model) -> Vec<SharedLimitZone> {
        self.limits.shared(model.stream.as_ref())
    }
}

/// Function that returns the `resolver` that applies to a block (set there or inherited), with its timeout in
/// milliseconds; `None` without a resolver, and after an error. Errors are appended to the list.
pub type ResolverFactory = fn(&Settings, &mut Vec<Diagnostic>) -> Option<(ResolverConfig, u64)>;

/// Function that opens the lookup tables that features define for variables.
pub type TablesFactory = fn(&mut TableMaking<'_>) -> Vec<TableVariable>;

/// Function that returns the traffic zone that counts the sessions of a server; `None` without `status_zone`.
pub type TrafficZoneFactory = fn(&Traffic, &ServerConf) -> Option<Arc<TrafficZone>>;

/// Inputs for the compilation of a `stream` block besides the configuration model.
pub struct StreamCompileInputs<'a> {
    /// Folder against which relative paths of logs and `state` files are resolved.
    pub prefix: &'a Path,
    /// Numbers of the listening sockets by name; empty if the configuration is only checked.
    pub listeners: &'a HashMap<String, u32>,
    /// Open access and error log files.
    pub logs: &'a Logs,
    /// State of the `stream` block of earlier configurations.
    pub reload_state: &'a mut StreamReloadState,
    /// Reader of the certificate and key files that TLS directives name.
    pub files: TlsFileReader<'a>,
    /// TLS state of earlier configurations.
    pub tls: &'a mut myriad_tls::TlsReloadState,
    /// Function that creates the resolvers of the blocks.
    pub resolver: ResolverFactory,
    /// Folder of the main configuration file, against which relative paths of lookup tables are resolved.
    pub folder: &'a Path,
    /// Function that opens the lookup tables for variables.
    pub tables: TablesFactory,
    /// Traffic counters of the process.
    pub traffic: &'a Traffic,
    /// Function that returns the traffic zone of a server.
    pub zone: TrafficZoneFactory,
}

/// Compiles the `stream` block of a configuration; `None` if there is none.
///
/// # Errors
///
/// All errors of the block.
pub fn compile(
    model: &Model,
    around: StreamCompileInputs<'_>,
) -> Result<Option<StreamRuntime>, Vec<Diagnostic>> {
    let Some(stream) = &model.stream else { return Ok(None) };
    let mut compile = StreamCompiler {
        model,
        stream,
        around,
        scripts: Compiler::new(variables::names()),
        errors: Vec::new(),
        groups: HashMap::new(),
        formats: Vec::new(),
        resolvers: Vec::new(),
        zones: limits::ConnectionLimitZones::default(),
    };
    let tables = compile.tables();
    compile.declare(&tables);
    compile.define(tables);
    compile.zones();
    for upstream in &stream.upstreams {
        compile.upstream(upstream);
    }
    let servers: Vec<StreamServer> = stream.servers.iter().map(|server| compile.server(server)).collect();
    let listeners = compile.listeners();
    compile.finish(servers, listeners).map(Some)
}

struct StreamCompiler<'a> {
    model: &'a Model,
    stream: &'a HttpConf,
    around: StreamCompileInputs<'a>,
    scripts: Compiler<StreamNames>,
    errors: Vec<Diagnostic>,
    groups: HashMap<String, Arc<StreamGroup>>,
    formats: Vec<LogFormat>,
    resolvers: Vec<Arc<ResolverConfig>>,
    zones: limits::ConnectionLimitZones,
}

impl StreamCompiler<'_> {
    fn tables(&mut self) -> Vec<TableVariable> {
        let log = self.error_log(&self.stream.settings.log.error);
        let mut making =
            TableMaking { http: self.stream, folder: self.around.folder, log, errors: Vec::new() };
        let tables = (self.around.tables)(&mut making);
        self.errors.append(&mut making.errors);
        tables
    }

    /// Declares all variables that the block defines, so that their order does not matter.
    fn declare(&mut self, tables: &[TableVariable]) {
        let stream = self.stream;
        for map in &stream.maps {
            let (lines, spans) = map.lines();
            let declared = self.scripts.declare_map(&map.variable.lossy(), &lines);
            self.report(map.span, &spans, declared);
        }
        let lazies = stream.geos.iter().map(|geo| &geo.variable);
        let lazies = lazies.chain(stream.split_clients.iter().map(|split| &split.variable));
        for variable in lazies.chain(tables.iter().map(|table| &table.variable)) {
            if let Err(error) = self.scripts.declare_lazy(&variable.lossy()) {
                self.fail(variable.span, error);
            }
        }
        for server in &stream.servers {
            for (name, _) in &server.settings.feature::<StreamSettings>().assignments {
                if let Err(error) = self.scripts.declare_set(&name.lossy()) {
                    self.fail(name.span, error);
                }
            }
            for name in &server.names {
                if let ServerName::Regex(pattern) = name
                    && let Err(error) = self.scripts.declare_captures(&pattern.lossy())
                {
                    self.fail(pattern.span, error);
                }
            }
        }
    }

    /// Compiles `map`, `geo`, `split_clients`, lookup tables and log formats of the block.
    fn define(&mut self, tables: Vec<TableVariable>) {
        let stream = self.stream;
        for map in &stream.maps {
            let (lines, spans) = map.lines();
            let defined = self.scripts.define_map(&map.variable.lossy(), &map.source.lossy(), &lines);
            self.report(map.span, &spans, defined);
        }
        for geo in &stream.geos {
            let source = geo.source.as_ref().map(|source| format!("${}", source.lossy()));
            let defined = self.scripts.define_geo(&geo.variable.lossy(), source.as_deref(), &geo.lines());
            self.report(geo.span, &[], defined);
        }
        for split in &stream.split_clients {
            let (name, source) = (split.variable.lossy(), split.source.lossy());
            let defined = self.scripts.define_split_clients(&name, &source, &split.lines());
            let spans: Vec<Span> = split.shares.iter().map(|share| share.value.span).collect();
            self.report(split.span, &spans, defined);
        }
        for TableVariable { variable, sources, table, .. } in tables {
            // `follows` is empty, because values are not cached between sessions.
            let texts: Vec<_> = sources.iter().map(Text::lossy).collect();
            let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
            let defined = self.scripts.define_table(&variable.lossy(), &texts, &[], table);
            let spans: Vec<Span> = sources.iter().map(|source| source.span).collect();
            self.report(variable.span, &spans, defined);
        }
        for format in &stream.log_formats {
            let template = self.template(&format.format);
            self.formats.push(LogFormat { name: format.name.clone(), template, escape: format.escape });
        }
    }

    fn zones(&mut self) {
        for conf in limits::zones(self.stream) {
            let key = self.template(&conf.key);
            self.zones.add(conf, key, &mut self.around.reload_state.limits);
        }
    }

    fn upstream(&mut self, upstream: &UpstreamConf) {
        let key = upstream.hash_key.as_ref().map(|key| self.template(key));
        let resolver = (self.around.resolver)(&upstream.settings, &mut self.errors);
        let resolver = resolver.map(|(config, timeout_ms)| (Arc::new(config), timeout_ms));
        let config = GroupConfig::from_upstream(upstream, 0, resolver, self.around.prefix, &mut self.errors);
        self.group(config, key);
    }

    fn group(&mut self, config: GroupConfig, key: Option<Template>) -> Arc<StreamGroup> {
        let name = config.name.clone();
        let group = Arc::new(StreamGroup { group: Group::new(config, &self.around.reload_state.peers), key });
        self.groups.insert(name, Arc::clone(&group));
        group
    }

    fn server(&mut self, server: &ServerConf) -> StreamServer {
        let settings = server.settings.feature::<StreamSettings>();
        let rate = |compile: &mut Self, text| compile.template(text);
        let assignments = settings.assignments.iter();
        let assignments = assignments.filter_map(|(name, value)| self.assignment(name, value)).collect();
        let access_logs = server.settings.log.access.iter();
        let access_logs =
            access_logs.filter_map(|log| self.access_log(log, server.settings.log.open_files)).collect();
        let content = self.content(settings);
        let checks = server.settings.feature::<health_check::CheckSettings>();
        let has_group = matches!(content, StreamContent::Group(_));
        StreamServer {
            name: server.primary_name.bytes().into(),
            content,
            check: health_check::compile(checks, has_group, &mut self.errors),
            tls: self.tls(server, settings),
            named: self.named_certificates(server),
            clients: self.clients(&server.settings),
            peer_tls: self.peer_tls(&server.settings, settings),
            access: server.settings.feature::<AccessSettings>().rules.as_slice().into(),
            limits: SessionLimits::of(&server.settings, &self.zones),
            assignments,
            bind: settings.bind.as_ref().map(|bind| self.template(bind)),
            upload_rate: rate(self, &settings.upload_rate),
            download_rate: rate(self, &settings.download_rate),
            resolver: self.resolver(&server.settings),
            access_logs,
            errors: self.error_log(&server.settings.log.error),
            traffic: (self.around.zone)(self.around.traffic, server),
            settings: settings.clone(),
        }
    }

    /// Compiles the TLS settings that a server uses for its clients: rejection with `ssl_reject_handshake`; none
    /// without a certificate, and after an error, which is recorded.
    fn tls(&mut self, server: &ServerConf, own: &StreamSettings) -> ServerTls {
        let settings = &server.settings.tls;
        if settings.reject_handshake {
            return ServerTls::Rejects;
        }
        if settings.certificates.is_empty() {
            return ServerTls::None;
        }
        let parts = ServerParts { settings, files: self.around.files, ordered: None, staples: &[] };
        match myriad_tls::server_config(&parts, self.around.tls) {
            Ok(config) => {
                let protocols: Vec<Vec<u8>> = own.alpn.iter().map(|name| name.value.clone()).collect();
                ServerTls::Terminates(Arc::new(myriad_tls::with_protocols(&config, &protocols)))
            }
            Err(error) => {
                self.errors.push(*error);
                ServerTls::None
            }
        }
    }

    /// Compiles the certificates of a server if one of their file names contains variables; otherwise, and after an
    /// error, which is recorded, the list is empty.
    fn named_certificates(&mut self, server: &ServerConf) -> Vec<NamedPair> {
        let settings = &server.settings.tls;
        let files = myriad_tls::named_certificates(settings, self.around.files).unwrap_or_else(|error| {
            self.errors.push(*error);
            None
        });
        let Some(files) = files else { return Vec::new() };
        let is_clients = myriad_tls::is_clients(settings);
        let pairs = settings.certificates.iter().zip(&settings.keys);
        pairs.map(|pair| self.named_pair(pair, &files, is_clients)).collect()
    }

    fn named_pair(
        &mut self,
        (certificate, key): (&Text, &Text),
        files: &Arc<NamedCertificates>,
        is_clients: bool,
    ) -> NamedPair {
        let (certificate, key) = (self.template(certificate), self.template(key));
        NamedPair { certificate, key, files: Arc::clone(files), is_clients }
    }

    fn clients(&mut self, settings: &Settings) -> Option<ClientRules> {
        let rules = ClientRules::of(&settings.tls, self.around.files).unwrap_or_else(|error| {
            self.errors.push(*error);
            None
        })?;
        if !rules.uses_ocsp() {
            return Some(rules);
        }
        let resolver = (self.around.resolver)(settings, &mut self.errors);
        Some(rules.with_resolver(resolver.map(|(config, timeout_ms)| (Arc::new(config), timeout_ms))))
    }

    /// Compiles the TLS settings for connections to the peers of a server; `None` without `proxy_ssl` or `proxy_pass`,
    /// and after an error, which is recorded.
    fn peer_tls(&mut self, settings: &Settings, own: &StreamSettings) -> Option<PeerTls> {
        let target = own.pass.as_ref().filter(|_| own.uses_tls)?;
        let origin = settings.stream_origin()?;
        let written = &origin.tls;
        let made = OriginTlsConfig::of(origin, target.span, self.around.files);
        let OriginTlsConfig { config, check, id, named } =
            made.map_err(|error| self.errors.push(*error)).ok()?;
        let protocols: Vec<Vec<u8>> = own.peer_alpn.iter().map(|name| name.value.clone()).collect();
        let config = Arc::new(myriad_tls::with_client_protocols(&config, &protocols));
        let name = self.template(written.name.as_ref().unwrap_or(target));
        let pair = written.certificate.as_ref().zip(written.key.as_ref()).zip(named);
        let certificate = pair.map(|(pair, files)| self.named_pair(pair, &files, true));
        Some(PeerTls { config, certificate, check, name, id })
    }

    fn assignment(&mut self, name: &Text, value: &Text) -> Option<(Arc<myriad_script::Variable>, Template)> {
        let value = self.template(value);
        match self.scripts.variable(&name.lossy()) {
            Ok(variable) => Some((variable, value)),
            Err(error) => {
                self.fail(name.span, error);
                None
            }
        }
    }

    fn content(&mut self, settings: &StreamSettings) -> StreamContent {
        if let Some(text) = &settings.answer {
            return StreamContent::Return(self.template(text));
        }
        if let Some(target) = &settings.pass_to {
            return StreamContent::Pass(self.template(target));
        }
        let Some(target) = &settings.pass else {
            return StreamContent::Nothing;
        };
        let template = self.template(target);
        let Some(name) = template.as_static() else { return StreamContent::Named(template) };
        let name = String::from_utf8_lossy(name).into_owned();
        match self.groups.get(&name) {
            Some(group) => StreamContent::Group(Arc::clone(group)),
            None => StreamContent::Group(self.single(&name, target.span)),
        }
    }

    /// Creates a group for one address, or for a host name, which is resolved now. Reports a name that cannot be
    /// resolved; the group then has no peers.
    fn single(&mut self, name: &str, at: Span) -> Arc<StreamGroup> {
        let peers = match PeerAddress::resolve(name, None) {
            Ok(addresses) => addresses.into_iter().map(PeerConfig::new).collect(),
            Err(error) => {
                let host = name.split(':').next().unwrap_or(name);
                let error = Diagnostic::error(at, format!("{error} in \"{name}\"")).undefined(host);
                self.errors.push(error.help(
                    "write unix:/path/to/the.sock, an address with a port, or the name of an upstream block",
                ));
                Vec::new()
            }
        };
        let config = GroupConfig { name: name.to_owned(), peers, ..GroupConfig::single(nowhere()) };
        self.group(config, None)
    }

    /// Returns the index of a block's resolver and its timeout in milliseconds; `None` without `resolver`. Equal
    /// resolvers share an index and a cache.
    fn resolver(&mut self, settings: &Settings) -> Option<(usize, u64)> {
        let (config, timeout_ms) = (self.around.resolver)(settings, &mut self.errors)?;
        let known = self.resolvers.iter().position(|known| **known == config);
        let index = known.unwrap_or_else(|| {
            self.resolvers.push(Arc::new(config));
            self.resolvers.len() - 1
        });
        Some((index, timeout_ms))
    }

    fn error_log(&self, own: &[settings::ErrorLog]) -> ErrorLog {
        let targets = if own.is_empty() { &self.model.main.error_logs[..] } else { own };
        self.around.logs.error_log(targets, self.around.prefix)
    }

    fn access_log(
        &mut self,
        log: &settings::AccessLog,
        open: Option<settings::OpenLogFileCache>,
    ) -> Option<AccessLog> {
        let format = self.formats.iter().position(|format| format.name == log.format)?;
        let target = if let Some(syslog) = &log.syslog {
            LogTarget::Syslog(self.around.logs.syslog(syslog)?)
        } else if log.path.has_variables() {
            LogTarget::Variable(self.template(&log.path), open)
        } else {
            let path: PathBuf = self.around.prefix.join(&*log.path.lossy());
            let buffer = log.buffer.map(|bytes| LogBuffering {
                size: bytes as usize,
                flush_ms: log.flush,
                gzip: log.gzip,
            });
            LogTarget::File { file: self.around.logs.file(&path)?, buffer }
        };
        let condition = log.condition.as_ref().map(|text| Predicates::new(vec![self.template(text)]));
        Some(AccessLog { format, target, condition, sample: log.sample })
    }

    /// Returns the servers of each listening socket, by socket number.
    fn listeners(&mut self) -> HashMap<u32, ListenerHosts> {
        let mut listeners: HashMap<u32, ListenerHosts> = HashMap::new();
        let stream = self.stream;
        for (id, server) in stream.servers.iter().enumerate() {
            let id = id as ServerId;
            if self.around.listeners.is_empty() {
                // A configuration check opens no sockets, but the regular expressions in server names must be valid.
                self.names(server, id, &mut ServerNames::default());
            }
            for listen in &server.listens {
                let Some((number, ip)) = listen.socket_among(self.around.listeners) else { continue };
                let listener = listeners.entry(number).or_default();
                listener.secure |= listen.ssl;
                let hosts = listener.at(ip, id);
                if listen.default_server {
                    hosts.default = id;
                }
                hosts.proxy_protocol |= listen.proxy_protocol;
                self.names(server, id, &mut hosts.names);
            }
        }
        listeners
    }

    fn names(&mut self, server: &ServerConf, id: ServerId, names: &mut ServerNames) {
        for name in &server.names {
            match name {
                ServerName::Exact(name) => {
                    names.add_exact(name.as_bytes(), id);
                }
                ServerName::WildcardPrefix(suffix) => names.add_suffix(suffix.as_bytes(), id),
                ServerName::Dot(suffix) => {
                    names.add_exact(suffix.trim_start_matches('.').as_bytes(), id);
                    names.add_suffix(suffix.as_bytes(), id);
                }
                ServerName::WildcardSuffix(prefix) => names.add_prefix(prefix.as_bytes(), id),
                ServerName::Hostname => {
                    names.add_exact(&hostname(), id);
                }
                ServerName::Regex(pattern) => match self.scripts.regex(&pattern.lossy(), true) {
                    Ok(regex) => names.add_regex(regex, id),
                    Err(error) => self.fail(pattern.span, error),
                },
            }
        }
    }

    fn finish(
        self,
        servers: Vec<StreamServer>,
        listeners: HashMap<u32, ListenerHosts>,
    ) -> Result<StreamRuntime, Vec<Diagnostic>> {
        let Self { model, stream, around, scripts, mut errors, groups, formats, resolvers, zones, .. } = self;
        let names = scripts.finish().unwrap_or_else(|found| {
            // Errors of declared names have already been reported with their positions.
            if errors.is_empty() {
                errors.extend(found.into_iter().map(|error| script_diagnostic(Span::default(), error)));
            }
            variables::names()
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        let listens = stream.servers.iter().flat_map(|server| &server.listens).filter(|listen| listen.udp);
        let datagrams = listens.filter_map(|listen| Some(listen.socket_among(around.listeners)?.0)).collect();
        Ok(StreamRuntime {
            listeners,
            datagrams,
            servers,
            sockets: PassTargets::from_model(model, around.listeners),
            groups,
            formats,
            names,
            resolvers,
            limits: zones.counts(),
            prefix: around.prefix.to_owned(),
            hostname: hostname().into(),
        })
    }

    fn template(&mut self, text: &Text) -> Template {
        let Some(source) = text.as_str() else {
            self.errors.push(Diagnostic::error(text.span, "the text is not valid UTF-8"));
            return Template::constant(b"");
        };
        self.scripts.template(source).unwrap_or_else(|error| {
            self.fail(text.span, error);
            Template::constant(b"")
        })
    }

    fn fail(&mut self, span: Span, error: ScriptError) {
        self.errors.push(script_diagnostic(span, error));
    }

    /// Reports the errors of a configuration block: at their line if it is known, otherwise at the first line of the
    /// block.
    fn report(&mut self, head: Span, lines: &[Span], defined: Result<(), Vec<ScriptError>>) {
        for error in defined.err().into_iter().flatten() {
            let line = error.item.and_then(|line| lines.get(line)).copied();
            self.fail(line.filter(|line| *line != Span::default()).unwrap_or(head), error);
        }
    }
}

/// Converts an error of a script to a diagnostic.
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

/// Returns the host name of the machine in lower case.
fn hostname() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_ascii_lowercase()
}

/// Returns a placeholder address for a group whose peers are set separately.
fn nowhere() -> PeerAddress {
    PeerAddress::Unix(PathBuf::new())
}
