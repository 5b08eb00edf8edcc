//! Reads and checks a configuration, and completes it with values that depend on the machine.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use myriad_conf::model::{HttpConf, ListenAddress, ListenConf, ServerConf};
use myriad_conf::settings::ErrorLog;
use myriad_conf::{Diagnostic, Loader, MemoryLoader, Model, ParsedConfiguration, Severity, Text};
use myriad_log::LogLevel;
use myriad_tls::TlsFiles;

use crate::paths::ServerPaths;
use crate::pidfile::reason;
use crate::report::ConfigFinding;
use crate::wordpress::Preset;

/// Source of a configuration, from which it is read again at every reload.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    /// Prefix, configuration file and error log of the server.
    pub paths: ServerPaths,
    /// Text of the directives of `-g`; empty without the option.
    pub directives: Vec<u8>,
    /// Preset that generates the main file in memory (`myriad wordpress`); `None` if the file is on disk.
    pub preset: Option<Preset>,
}

/// Valid configuration, with its sources.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// Syntax tree, and the files that it was parsed from.
    pub parsed: ParsedConfiguration,
    /// Configuration as typed values, completed with values that depend on the machine.
    pub model: Model,
    /// Addresses of the host names of `listen` directives, and of servers without `listen`.
    pub hosts: Vec<ResolvedHost>,
    /// Contents of the files that directives for TLS name without variables (certificates, keys, passwords and so on),
    /// by path.
    pub tls_files: TlsFiles,
}

/// Host name and port of a `listen`, and the addresses of the name. The entry with an empty name and port 0 contains
/// the address of servers without `listen`.
pub type ResolvedHost = ((String, u16), Vec<SocketAddr>);

/// Key, in the list of resolved hosts, of the address that servers without `listen` use: port 80, or 8000 if the user
/// is not root, as documented by nginx.
const DEFAULT_LISTEN: (&str, u16) = ("", 0);

impl ConfigurationSource {
    /// Returns the source for a reload, and warnings. For a preset, the files that its command line names are read
    /// again; returns an error text if the preset cannot be generated.
    pub fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let Some(preset) = &self.preset else { return Ok((self.clone(), Vec::new())) };
        let (preset, warnings) = preset.renewed()?;
        Ok((Self { preset: Some(preset), ..self.clone() }, warnings))
    }

    /// Reads, parses and checks the configuration.
    ///
    /// # Errors
    /// Returns all errors, as messages of one or several lines.
    pub fn load(&self) -> Result<Configuration, Vec<ConfigFinding>> {
        self.examine().into_configuration()
    }

    /// Reads the configuration and runs all checks, even if an earlier one has found errors.
    pub fn examine(&self) -> ExaminedConfiguration<'_> {
        let (parsed, folder) = (self.parse(), self.folder());
        let mut survey = myriad_conf::survey(&parsed, myriad_serve::registry());
        let (tls_files, unreadable) = read_tls_files(&survey.model, folder);
        let spans: Vec<_> = unreadable.iter().map(|error| error.span).collect();
        survey.add(unreadable);
        if let Err(errors) = myriad_serve::check(&survey.model, folder, &tls_files) {
            survey.add(errors.into_iter().filter(|error| !spans.contains(&error.span)));
        }
        let (hosts, unresolved) = resolve(&survey.model);
        survey.add(unresolved);
        let twice = duplicate_defaults(&survey.model, &hosts);
        survey.add(twice);
        let shared = shared_with_stream(&survey.model, &hosts);
        survey.add(shared);
        ExaminedConfiguration { origin: self, parsed, survey, hosts, tls_files }
    }

    /// Reads the configuration for commands that only print it. TLS files that cannot be read, and failed checks of the
    /// server, are findings of the result; an error is returned only if a configuration file cannot be read, or its
    /// syntax or a directive is invalid.
    pub fn survey(&self) -> Result<Survey, Vec<ConfigFinding>> {
        let (parsed, folder) = (self.parse(), self.folder());
        let model = myriad_conf::build(&parsed, myriad_serve::registry())
            .map_err(|errors| ConfigFinding::of(&parsed, &errors))?;
        let (tls_files, mut wrong) = read_tls_files(&model, folder);
        if let Err(errors) = myriad_serve::check(&model, folder, &tls_files) {
            let unreadable: Vec<_> = wrong.iter().map(|error| error.span).collect();
            wrong.extend(errors.into_iter().filter(|error| !unreadable.contains(&error.span)));
        }
        Ok(Survey { findings: ConfigFinding::of(&parsed, &wrong), model, tls_files })
    }

    fn parse(&self) -> ParsedConfiguration {
        let path = &self.paths.configuration;
        match &self.preset {
            Some(preset) => {
                let loader = MemoryLoader::with(path.clone(), preset.text.clone());
                myriad_serve::registry().parse(&loader, path, &self.directives)
            }
            None => myriad_serve::registry().parse(&DiskLoader, path, &self.directives),
        }
    }

    /// Returns the folder of the configuration file, to which some file names are relative.
    fn folder(&self) -> &Path {
        self.paths.configuration.parent().unwrap_or(&self.paths.prefix)
    }
}

/// Configuration that was read and checked; it may be invalid.
#[derive(Debug)]
pub struct ExaminedConfiguration<'o> {
    origin: &'o ConfigurationSource,
    parsed: ParsedConfiguration,
    survey: myriad_conf::Survey,
    hosts: Vec<ResolvedHost>,
    tls_files: TlsFiles,
}

impl ExaminedConfiguration<'_> {
    /// Returns the typed configuration of the valid parts.
    pub fn model(&self) -> &Model {
        &self.survey.model
    }

    /// Returns the configuration, completed with values that depend on the machine; or all its errors.
    pub fn into_configuration(self) -> Result<Configuration, Vec<ConfigFinding>> {
        let Self { origin, parsed, survey, hosts, tls_files } = self;
        let mut model = survey.into_model().map_err(|errors| ConfigFinding::of(&parsed, &errors))?;
        warn_of_ineffective_directives(&mut model);
        model.warnings.extend(myriad_serve::warnings(&model));
        model.warnings.extend(myriad_tls::tls_warnings(&model, origin.folder(), &tls_files));
        complete(&mut model, &origin.paths, &hosts);
        Ok(Configuration { parsed, model, hosts, tls_files })
    }
}

/// Configuration for commands that only print it. Its syntax and directives are valid; certificate files may be
/// unreadable, and checks of the server may have failed (`findings`).
#[derive(Debug)]
pub struct Survey {
    /// Configuration as typed values, without values that depend on the machine.
    pub model: Model,
    /// Contents of the TLS files (certificates, keys and so on) that could be read, by path.
    pub tls_files: TlsFiles,
    /// Errors that prevent the server from running this configuration: unreadable TLS files and failed checks. Host
    /// names of `listen` are not checked.
    pub findings: Vec<ConfigFinding>,
}

impl Configuration {
    /// Returns the warnings about the configuration, without the hints.
    pub fn warnings(&self) -> Vec<ConfigFinding> {
        self.findings(|severity| severity != Severity::Hint)
    }

    /// Returns the hints about the configuration, which `-t` prints and which are never logged.
    pub fn hints(&self) -> Vec<ConfigFinding> {
        self.findings(|severity| severity == Severity::Hint)
    }

    fn findings(&self, is_wanted: fn(Severity) -> bool) -> Vec<ConfigFinding> {
        let wanted = self.model.warnings.iter().filter(|found| is_wanted(found.severity));
        ConfigFinding::of(&self.parsed, wanted)
    }

    /// Returns the files of the configuration, which the worker parses again: all sources except built-in files and
    /// `-g`.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let on_disk =
            self.parsed.sources.iter().filter(|source| !source.builtin && source.path != Path::new("-g"));
        on_disk.map(|source| (source.path.as_path(), source.bytes.as_ref()))
    }
}

/// Reads a configuration from disk, without the checks that depend on the machine, for commands that only need its
/// values. `origin.preset` is ignored.
pub fn read_main(origin: &ConfigurationSource) -> Result<Model, Vec<ConfigFinding>> {
    let parsed = myriad_serve::registry().parse(&DiskLoader, &origin.paths.configuration, &origin.directives);
    myriad_conf::build(&parsed, myriad_serve::registry())
        .map_err(|errors| ConfigFinding::of(&parsed, &errors))
}

/// Reads the TLS files that the configuration names (certificates, keys and so on), except names with variables.
/// Returns an error for each file that cannot be read.
fn read_tls_files(model: &Model, folder: &Path) -> (TlsFiles, Vec<Diagnostic>) {
    let mut files = TlsFiles::new();
    let mut errors = Vec::new();
    for name in myriad_tls::tls_files(model) {
        if name.bytes().starts_with(myriad_conf::settings::TLS_DATA) {
            // The text may be a key, so it is not repeated.
            let message =
                "\"data:\" is supported only for certificates and their keys: write the name of a file";
            errors.push(Diagnostic::error(name.span, message));
            continue;
        }
        let path = myriad_tls::tls_path(folder, name);
        // Each file is read once even if many servers name it: a password may be read from a pipe.
        if files.contains_key(&path) {
            continue;
        }
        match std::fs::read(&path) {
            Ok(bytes) => {
                files.insert(path, bytes);
            }
            Err(error) => {
                let message = format!("cannot load \"{}\": {}", path.display(), reason(&error));
                errors.push(Diagnostic::error(name.span, message));
            }
        }
    }
    (files, errors)
}

/// Builds the model again in the worker, from files that the supervisor has read. Returns it with the parsed files, or
/// the texts of the errors.
pub fn rebuild(
    files: Vec<(PathBuf, Vec<u8>)>,
    paths: &ServerPaths,
    directives: &[u8],
    hosts: &[ResolvedHost],
) -> Result<(Model, Vec<myriad_conf::SourceFile>), String> {
    let bundle =
        files.into_iter().fold(MemoryLoader::default(), |loader, (path, bytes)| loader.and(path, bytes));
    let parsed = myriad_serve::registry().parse(&bundle, &paths.configuration, directives);
    let built = myriad_conf::build(&parsed, myriad_serve::registry());
    let mut model = built.map_err(|errors| errors_of(ConfigFinding::of(&parsed, &errors)))?;
    complete(&mut model, paths, hosts);
    Ok((model, parsed.sources))
}

/// Returns the texts of the errors among the findings, without warnings, separated by line breaks.
pub fn errors_of(findings: Vec<ConfigFinding>) -> String {
    let errors = findings.into_iter().filter(|finding| finding.level < LogLevel::Warn);
    errors.map(|finding| finding.text).collect::<Vec<_>>().join("\n")
}

/// Maximum length of a configuration file, in bytes. A longer file, such as a device of unlimited length, is rejected
/// with an error.
const LARGEST_FILE: u64 = 64 << 20;

/// Loader that reads the files of the configuration from the file system.
struct DiskLoader;

impl Loader for DiskLoader {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if read as u64 > LARGEST_FILE {
            let text = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(bytes)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }
}

fn listens(model: &Model) -> impl Iterator<Item = &ListenConf> {
    model.servers().flat_map(|server| &server.listens)
}

/// Resolves the host names of `listen` directives. Returns the addresses, including that of servers without `listen`,
/// and an error for each `listen` whose name cannot be resolved.
fn resolve(model: &Model) -> (Vec<ResolvedHost>, Vec<Diagnostic>) {
    // The supervisor determines the default port, because the worker does not know whether root started the server.
    let port = if rustix::process::geteuid().is_root() { 80 } else { 8000 };
    let default = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let mut hosts: Vec<ResolvedHost> = vec![((DEFAULT_LISTEN.0.to_owned(), DEFAULT_LISTEN.1), vec![default])];
    let mut errors = Vec::new();
    for listen in listens(model) {
        let ListenAddress::Host(name, port) = &listen.address else { continue };
        if hosts.iter().any(|((known, known_port), _)| known == name && known_port == port) {
            continue;
        }
        match (name.as_str(), *port).to_socket_addrs() {
            Ok(addresses) => hosts.push(((name.clone(), *port), addresses.collect())),
            Err(error) => {
                let text = format!("host not found in \"{name}\" of the \"listen\" directive: {error}");
                errors.push(Diagnostic::error(listen.span, text));
            }
        }
    }
    (hosts, errors)
}

/// Returns errors for duplicate default servers that become visible only after host names are resolved, such as
/// `localhost:80` and `127.0.0.1:80`.
fn duplicate_defaults(model: &Model, hosts: &[ResolvedHost]) -> Vec<Diagnostic> {
    let mut known: Vec<(SocketAddr, &ListenConf)> = Vec::new();
    let mut errors = Vec::new();
    for listen in listens(model).filter(|listen| listen.default_server) {
        let addresses: Vec<SocketAddr> = match &listen.address {
            ListenAddress::Ip(address) => vec![*address],
            ListenAddress::Host(name, port) => addresses(hosts, name, *port).collect(),
            ListenAddress::Unix(_) => continue,
        };
        for address in addresses {
            let first = known.iter().find(|(other, conf)| {
                *other == address && (conf.quic, conf.udp) == (listen.quic, listen.udp)
            });
            match first {
                // Duplicates with equal text were found when the configuration was parsed.
                Some((_, first)) if first.address != listen.address => {
                    let text = format!("a duplicate default server for {address}");
                    let error = Diagnostic::error(listen.span, text);
                    errors.push(error.related(first.span, "first written here"));
                }
                _ => known.push((address, listen)),
            }
        }
    }
    errors
}

/// Returns errors for addresses used by both `http` and `stream` that become visible only after host names are
/// resolved, or by the default of `listen`.
fn shared_with_stream(model: &Model, hosts: &[ResolvedHost]) -> Vec<Diagnostic> {
    let listens = |block: Option<&HttpConf>| -> Vec<(bool, ListenConf)> {
        let mut listens = Vec::new();
        for server in block.into_iter().flat_map(|block| &block.servers) {
            for listen in listen_addresses(server, hosts) {
                let is_written = server.listens.iter().any(|other| other.address == listen.address);
                listens.push((is_written, listen));
            }
        }
        listens
    };
    let of_http = listens(model.http.as_ref());
    let mut errors = Vec::new();
    for (is_written, listen) in listens(model.stream.as_ref()) {
        // Addresses that are written in both blocks were compared when the configuration was parsed.
        let unseen = of_http.iter().filter(|(other_is, _)| !(is_written && *other_is));
        let same = unseen.map(|(_, other)| other).find(|other| other.shares_socket(&listen));
        if let (Some(same), ListenAddress::Ip(address)) = (same, &listen.address) {
            let text = format!("address {address} is used by both http and stream");
            errors.push(Diagnostic::error(listen.span, text).related(same.span, "used by http here"));
        }
    }
    errors
}

/// Adds warnings about directives without effect: `user` if this process does not run as root, and `deferred` and
/// `fastopen` of `listen`.
fn warn_of_ineffective_directives(model: &mut Model) {
    let mut warnings = Vec::new();
    for listen in listens(model) {
        for (name, is_set) in [("deferred", listen.deferred), ("fastopen", listen.fastopen.is_some())] {
            if is_set {
                let text = format!("\"{name}\" of \"listen\" is accepted but has no effect");
                warnings.push(Diagnostic::warning(listen.span, text));
            }
        }
    }
    model.warnings.extend(warnings);
    if let Some(user) = model.main.user.as_ref().filter(|_| !rustix::process::geteuid().is_root()) {
        let text = "the \"user\" directive makes sense only if the server is started by root, ignored";
        model.warnings.push(Diagnostic::warning(user.span, text));
    }
}

fn addresses(hosts: &[ResolvedHost], name: &str, port: u16) -> impl Iterator<Item = SocketAddr> {
    let found = hosts.iter().find(move |((known, known_port), _)| known == name && *known_port == port);
    found.into_iter().flat_map(|(_, addresses)| addresses.iter().copied())
}

/// Completes the model with values that depend on the machine: the default error log, and the addresses of host names
/// and of the default `listen`.
fn complete(model: &mut Model, paths: &ServerPaths, hosts: &[ResolvedHost]) {
    if model.main.error_logs.is_empty() {
        let target = match &paths.error_log {
            Some(path) => Text::new(path.as_os_str().as_encoded_bytes(), <_>::default()),
            None => Text::builtin("stderr"),
        };
        model.main.error_logs.push(ErrorLog {
            target,
            syslog: None,
            level: LogLevel::Error,
            is_json: false,
            repeats_all: false,
        });
    }
    let blocks = model.http.iter_mut().chain(&mut model.stream);
    for server in blocks.flat_map(|block| &mut block.servers) {
        server.listens = listen_addresses(server, hosts);
    }
}

/// Returns the `listen` directives of a server, with host names replaced by addresses; the default one if it has none.
fn listen_addresses(server: &ServerConf, hosts: &[ResolvedHost]) -> Vec<ListenConf> {
    if server.listens.is_empty() {
        let default = addresses(hosts, DEFAULT_LISTEN.0, DEFAULT_LISTEN.1);
        return default.map(|address| ListenConf::new(ListenAddress::Ip(address), server.span)).collect();
    }
    let mut listens = Vec::with_capacity(server.listens.len());
    for listen in &server.listens {
        let ListenAddress::Host(name, port) = &listen.address else {
            listens.push(listen.clone());
            continue;
        };
        let found = addresses(hosts, name, *port);
        listens.extend(
            found.map(|address| ListenConf { address: ListenAddress::Ip(address), ..listen.clone() }),
        );
    }
    listens
}
