//! Configurations: read, checked, and completed by what depends on the machine.

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use myriad_conf::model::{HttpConf, ListenAddress, ListenConf, ServerConf};
use myriad_conf::settings::ErrorLog;
use myriad_conf::{Diagnostic, Loader, MemoryLoader, Model, Parsed, Severity, Text};
use myriad_log::Level;
use myriad_tls::TlsFiles;

use crate::paths::Paths;
use crate::pidfile::reason;
use crate::report::Finding;
use crate::wordpress::Preset;

/// Origin of a configuration: what it is read from, again at every reload.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) paths: Paths,
    /// `-g`.
    pub(crate) directives: Vec<u8>,
    /// Text of the main file if there is no such file on disk (`myriad wordpress`).
    pub(crate) preset: Option<Preset>,
}

/// A sound configuration, with the text from which it was read.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) parsed: Parsed,
    pub(crate) model: Model,
    /// Addresses of the host names that `listen` holds.
    pub(crate) hosts: Vec<Host>,
    /// Certificates and keys.
    pub(crate) tls_files: TlsFiles,
}

/// Host name and port of a `listen`, and the addresses that the supervisor found for them.
pub(crate) type Host = ((String, u16), Vec<SocketAddr>);

/// Name among the hosts for servers without `listen`: port 80, or 8000 for an ordinary user, as nginx documents.
const UNWRITTEN: (&str, u16) = ("", 0);

impl Origin {
    /// The origin for a reload, with warnings: for a preset everything that its command line names is read again.
    pub(crate) fn renewed(&self) -> Result<(Self, Vec<String>), String> {
        let Some(preset) = &self.preset else { return Ok((self.clone(), Vec::new())) };
        let (preset, warnings) = preset.renewed()?;
        Ok((Self { preset: Some(preset), ..self.clone() }, warnings))
    }

    /// Reads, parses and checks the configuration. All errors are returned at once, rendered, some of several lines.
    pub(crate) fn load(&self) -> Result<Configuration, Vec<Finding>> {
        self.examine().into_configuration()
    }

    /// Runs every stage, so that all errors are found: a later stage uses what the earlier ones could read.
    pub(crate) fn examine(&self) -> Examined<'_> {
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
        let twice = twice_default(&survey.model, &hosts);
        survey.add(twice);
        let shared = shared_with_stream(&survey.model, &hosts);
        survey.add(shared);
        Examined { origin: self, parsed, survey, hosts, tls_files }
    }

    /// Reads what can be read; fails only if the language is not followed.
    pub(crate) fn survey(&self) -> Result<Survey, Vec<Finding>> {
        let (parsed, folder) = (self.parse(), self.folder());
        let model = myriad_conf::build(&parsed, myriad_serve::registry())
            .map_err(|errors| Finding::of(&parsed, &errors))?;
        let (tls_files, mut wrong) = read_tls_files(&model, folder);
        if let Err(errors) = myriad_serve::check(&model, folder, &tls_files) {
            let unreadable: Vec<_> = wrong.iter().map(|error| error.span).collect();
            wrong.extend(errors.into_iter().filter(|error| !unreadable.contains(&error.span)));
        }
        Ok(Survey { findings: Finding::of(&parsed, &wrong), model, tls_files })
    }

    fn parse(&self) -> Parsed {
        let path = &self.paths.configuration;
        match &self.preset {
            Some(preset) => {
                let loader = MemoryLoader::with(path.clone(), preset.text.clone());
                myriad_serve::registry().parse(&loader, path, &self.directives)
            }
            None => myriad_serve::registry().parse(&Files, path, &self.directives),
        }
    }

    /// Folder from which relative names of files start.
    fn folder(&self) -> &Path {
        self.paths.configuration.parent().unwrap_or(&self.paths.prefix)
    }
}

/// A configuration that was read and checked, sound or not.
#[derive(Debug)]
pub(crate) struct Examined<'o> {
    origin: &'o Origin,
    parsed: Parsed,
    survey: myriad_conf::Survey,
    hosts: Vec<Host>,
    tls_files: TlsFiles,
}

impl Examined<'_> {
    /// The model, as far as it could be read.
    pub(crate) fn model(&self) -> &Model {
        &self.survey.model
    }

    /// The configuration, completed by what depends on the machine; or all its errors.
    pub(crate) fn into_configuration(self) -> Result<Configuration, Vec<Finding>> {
        let Self { origin, parsed, survey, hosts, tls_files } = self;
        let mut model = survey.into_model().map_err(|errors| Finding::of(&parsed, &errors))?;
        warn_of_what_has_no_effect(&mut model);
        model.warnings.extend(myriad_serve::warnings(&model));
        model.warnings.extend(myriad_tls::tls_warnings(&model, origin.folder(), &tls_files));
        complete(&mut model, &origin.paths, &hosts);
        Ok(Configuration { parsed, model, hosts, tls_files })
    }
}

/// A configuration as far as it can be read, for commands that only show it.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) model: Model,
    /// Certificates and keys that could be read.
    pub(crate) tls_files: TlsFiles,
    /// Errors that keep it from running.
    pub(crate) findings: Vec<Finding>,
}

impl Configuration {
    /// Warnings, rendered as errors are.
    pub(crate) fn warnings(&self) -> Vec<Finding> {
        self.findings(|severity| severity != Severity::Hint)
    }

    /// Hints: shown by `-t`, never logged.
    pub(crate) fn hints(&self) -> Vec<Finding> {
        self.findings(|severity| severity == Severity::Hint)
    }

    fn findings(&self, is_wanted: fn(Severity) -> bool) -> Vec<Finding> {
        let wanted = self.model.warnings.iter().filter(|found| is_wanted(found.severity));
        Finding::of(&self.parsed, wanted)
    }

    /// The files that were read from disk, for the worker to read again.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let on_disk =
            self.parsed.sources.iter().filter(|source| !source.builtin && source.path != Path::new("-g"));
        on_disk.map(|source| (source.path.as_path(), source.bytes.as_ref()))
    }
}

/// Reads and builds a configuration without checks that depend on the machine, for commands that only ask what it says.
pub(crate) fn read_main(origin: &Origin) -> Result<Model, Vec<Finding>> {
    let parsed = myriad_serve::registry().parse(&Files, &origin.paths.configuration, &origin.directives);
    myriad_conf::build(&parsed, myriad_serve::registry()).map_err(|errors| Finding::of(&parsed, &errors))
}

/// Certificates and keys that the servers name, and the errors of those that cannot be read.
fn read_tls_files(model: &Model, folder: &Path) -> (TlsFiles, Vec<Diagnostic>) {
    let mut files = TlsFiles::new();
    let mut errors = Vec::new();
    for name in myriad_tls::tls_files(model) {
        let path = myriad_tls::tls_path(folder, name);
        // Each file is read once, however many servers name it: a password may come through a pipe.
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

/// Builds the same model from text that was read before.
pub(crate) fn rebuild(
    files: Vec<(PathBuf, Vec<u8>)>,
    paths: &Paths,
    directives: &[u8],
    hosts: &[Host],
) -> Result<(Model, Vec<myriad_conf::Source>), String> {
    let bundle =
        files.into_iter().fold(MemoryLoader::default(), |loader, (path, bytes)| loader.and(path, bytes));
    let parsed = myriad_serve::registry().parse(&bundle, &paths.configuration, directives);
    let built = myriad_conf::build(&parsed, myriad_serve::registry());
    let mut model = built.map_err(|errors| errors_of(Finding::of(&parsed, &errors)))?;
    complete(&mut model, paths, hosts);
    Ok((model, parsed.sources))
}

/// Errors among the findings, as one text.
pub(crate) fn errors_of(findings: Vec<Finding>) -> String {
    let errors = findings.into_iter().filter(|finding| finding.level < Level::Warn);
    errors.map(|finding| finding.text).collect::<Vec<_>>().join("\n")
}

/// Most bytes of a file: what is longer, such as a device without end, is no configuration.
const LARGEST_FILE: u64 = 64 << 20;

/// Files of the configuration, read from the file system.
struct Files;

impl Loader for Files {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if read as u64 > LARGEST_FILE {
            let text = format!("it is larger than {} MiB", LARGEST_FILE >> 20);
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

/// Addresses of the hosts that `listen` names, and the errors of those without any.
fn resolve(model: &Model) -> (Vec<Host>, Vec<Diagnostic>) {
    // The default port is chosen here: the worker no longer knows whether root started the server.
    let port = if rustix::process::geteuid().is_root() { 80 } else { 8000 };
    let default = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    let mut hosts: Vec<Host> = vec![((UNWRITTEN.0.to_owned(), UNWRITTEN.1), vec![default])];
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

/// Two default servers of one address that are found only when host names are resolved, as `localhost:80` and `127.0.0.1:80`.
fn twice_default(model: &Model, hosts: &[Host]) -> Vec<Diagnostic> {
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
                // Addresses that are written alike were reported before.
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

/// Sockets that `http` and `stream` would share, where only the addresses of host names, or the default of `listen`, show it.
fn shared_with_stream(model: &Model, hosts: &[Host]) -> Vec<Diagnostic> {
    let listens = |block: Option<&HttpConf>| -> Vec<(bool, ListenConf)> {
        let mut listens = Vec::new();
        for server in block.into_iter().flat_map(|block| &block.servers) {
            for listen in expanded(server, hosts) {
                let is_written = server.listens.iter().any(|other| other.address == listen.address);
                listens.push((is_written, listen));
            }
        }
        listens
    };
    let of_http = listens(model.http.as_ref());
    let mut errors = Vec::new();
    for (is_written, listen) in listens(model.stream.as_ref()) {
        // What is written on both sides was compared when the configuration was read.
        let unseen = of_http.iter().filter(|(other_is, _)| !(is_written && *other_is));
        let same = unseen.map(|(_, other)| other).find(|other| other.shares_socket(&listen));
        if let (Some(same), ListenAddress::Ip(address)) = (same, &listen.address) {
            let text = format!("{address} is listened on by http and by stream");
            errors.push(Diagnostic::error(listen.span, text).related(same.span, "here by http"));
        }
    }
    errors
}

/// Warnings on directives without effect: `user` without root, and options of sockets that are not set.
fn warn_of_what_has_no_effect(model: &mut Model) {
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

fn addresses(hosts: &[Host], name: &str, port: u16) -> impl Iterator<Item = SocketAddr> {
    let found = hosts.iter().find(move |((known, known_port), _)| known == name && *known_port == port);
    found.into_iter().flat_map(|(_, addresses)| addresses.iter().copied())
}

/// Completes the model by what depends on the machine: default error log, addresses of host names, the default `listen`.
fn complete(model: &mut Model, paths: &Paths, hosts: &[Host]) {
    if model.main.error_logs.is_empty() {
        let target = match &paths.error_log {
            Some(path) => Text::new(path.as_os_str().as_encoded_bytes(), <_>::default()),
            None => Text::builtin("stderr"),
        };
        model.main.error_logs.push(ErrorLog {
            target,
            syslog: None,
            level: Level::Error,
            is_json: false,
            repeats_all: false,
        });
    }
    let blocks = model.http.iter_mut().chain(&mut model.stream);
    for server in blocks.flat_map(|block| &mut block.servers) {
        server.listens = expanded(server, hosts);
    }
}

/// What a server listens on: the default where nothing is written, host names by their addresses.
fn expanded(server: &ServerConf, hosts: &[Host]) -> Vec<ListenConf> {
    if server.listens.is_empty() {
        let default = addresses(hosts, UNWRITTEN.0, UNWRITTEN.1);
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
