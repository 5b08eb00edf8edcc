//! Checks that need several blocks or the whole configuration: undefined names, duplicates, missing certificates.

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::{
    diagnostic::Diagnostic,
    model::{HttpConf, ListenAddress, ListenConf, LocationConf, Matcher, ServerConf, ServerName},
    registry::{NameUse, nearest},
    settings::{Handler, Settings, tls_display_name},
    span::Span,
    text::Text,
};

impl Builder<'_> {
    /// Checks that `http` defines every name in [`Builder::uses`]. `block` is the name of the block, for messages.
    pub(super) fn check_uses(&mut self, http: &HttpConf, block: &str) {
        for NameUse { name: used, of, protocol } in std::mem::take(&mut self.uses) {
            let (name, defined) = (used.lossy(), (of.defined)(http));
            if defined.contains(&&*name) {
                continue;
            }
            let message = format!("unknown {} \"{name}\"", of.kind);
            let help = match nearest(&name, defined.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("define it in {block}: {}", (of.example)(&name, protocol)),
            };
            self.findings.push(Diagnostic::error(used.span, message).undefined(&*name).help(help));
        }
    }

    /// Rejects a path in the URL of a `*_pass` in a block without a location prefix that the path could replace. A
    /// handler inherited from `around` is not checked.
    pub(super) fn check_pass_uri(&mut self, settings: &Settings, around: &Settings) {
        let Some(Handler::Origin { protocol, target, .. }) = &settings.handler else { return };
        if protocol.is_url() && around.handler != settings.handler && has_uri(target) {
            let message = format!(
                "\"{}pass\" cannot have a path here: it would replace a location prefix, and this block has none",
                protocol.prefix()
            );
            let help = "this applies to regex and named locations, \"if\" and \"limit_except\"";
            self.findings.push(Diagnostic::error(target.span, message).help(help));
        }
    }

    /// Checks that exact, prefix and named locations in a block are unique.
    pub(super) fn check_locations(&mut self, locations: &[LocationConf]) {
        let mut seen: HashMap<(u8, &[u8]), Span> = HashMap::new();
        for location in locations {
            let kind = match location.matcher {
                Matcher::Exact => 0,
                Matcher::Prefix | Matcher::PrefixNoRegex => 1,
                Matcher::Named => 2,
                Matcher::Regex { .. } => continue,
            };
            if let Some(first) = seen.insert((kind, location.pattern.bytes()), location.span) {
                let message = format!("duplicate location \"{}\"", location.pattern.lossy());
                self.findings
                    .push(Diagnostic::error(location.span, message).related(first, "first written here"));
            }
        }
    }

    /// Checks the addresses, names and certificates of all servers in the block.
    pub(super) fn check_servers(&mut self, http: &HttpConf) {
        let mut defaults: HashMap<Endpoint<'_>, Span> = HashMap::new();
        let mut options: HashMap<Endpoint<'_>, &ListenConf> = HashMap::new();
        let mut names: HashMap<(Endpoint<'_>, &ServerName), Span> = HashMap::new();
        let mut secured: HashMap<Endpoint<'_>, Vec<(&ServerConf, &ListenConf)>> = HashMap::new();
        for server in &http.servers {
            let mut own: HashSet<Endpoint<'_>> = HashSet::new();
            for listen in &server.listens {
                let address = Endpoint::of(listen);
                if !own.insert(address) {
                    let message = format!("a duplicate listen {}", address.show());
                    self.findings.push(Diagnostic::error(listen.span, message));
                    continue;
                }
                self.check_listen(listen, &mut defaults, &mut options);
                let of_address = secured.entry(address).or_default();
                // The default server must be first.
                let at = if listen.default_server { 0 } else { of_address.len() };
                of_address.insert(at, (server, listen));
                for name in &server.names {
                    self.check_name(address, name, listen.span, &mut names);
                }
            }
        }
        for server in &http.servers {
            self.check_keys(server);
        }
        for servers in
            secured.values().filter(|servers| servers.iter().any(|(_, listen)| listen.ssl || listen.quic))
        {
            self.check_certificates(servers);
        }
    }

    fn check_listen<'h>(
        &mut self,
        listen: &'h ListenConf,
        defaults: &mut HashMap<Endpoint<'h>, Span>,
        options: &mut HashMap<Endpoint<'h>, &'h ListenConf>,
    ) {
        let address = Endpoint::of(listen);
        if listen.default_server
            && let Some(first) = defaults.insert(address, listen.span)
        {
            let message = format!("a duplicate default server for {}", address.show());
            self.findings.push(Diagnostic::error(listen.span, message).related(first, "first written here"));
        }
        if has_socket_options(listen)
            && let Some(first) = options.insert(address, listen)
        {
            let message = format!("duplicate listen options for {}", address.show());
            self.findings.push(
                Diagnostic::error(listen.span, message)
                    .related(first.span, "first written here")
                    .help("set the socket options in only one \"listen\" of each address"),
            );
        }
    }

    /// Checks that a server has a key for each of its certificates.
    fn check_keys(&mut self, server: &ServerConf) {
        let tls = &server.settings.tls;
        if let Some(certificate) = tls.certificates.get(tls.keys.len()) {
            let name = tls_display_name(certificate.bytes());
            let message = format!("no \"ssl_certificate_key\" is defined for certificate \"{name}\"");
            self.findings.push(Diagnostic::error(certificate.span, message));
        }
    }

    /// Checks the servers of a TLS address, default server first: QUIC requires TLS 1.3, and a server that does not
    /// reject handshakes needs a certificate of its own or of an earlier server.
    fn check_certificates(&mut self, servers: &[(&ServerConf, &ListenConf)]) {
        for (server, listen) in servers.iter().filter(|(_, listen)| listen.quic) {
            if !server.settings.tls.tls13 {
                let message = "\"listen ... quic\" requires TLSv1.3 in \"ssl_protocols\"";
                self.findings
                    .push(Diagnostic::error(listen.span, message).help("QUIC supports only TLS 1.3"));
            }
        }
        for (server, listen) in servers {
            let tls = &server.settings.tls;
            if !tls.certificates.is_empty() {
                // Later servers without a certificate use the certificate of this server.
                return;
            }
            if !tls.reject_handshake {
                let kind = if listen.quic { "quic" } else { "ssl" };
                let message =
                    format!("no \"ssl_certificate\" is defined for the \"listen ... {kind}\" directive");
                self.findings.push(
                    Diagnostic::error(listen.span, message)
                        .help("write ssl_certificate and ssl_certificate_key, or ssl_reject_handshake on"),
                );
                return;
            }
        }
    }

    fn check_name<'h>(
        &mut self,
        address: Endpoint<'h>,
        name: &'h ServerName,
        at: Span,
        names: &mut HashMap<(Endpoint<'h>, &'h ServerName), Span>,
    ) {
        if matches!(name, ServerName::Regex(_)) {
            return;
        }
        if let Some(first) = names.insert((address, name), at) {
            let message =
                format!("conflicting server name \"{}\" on {}, ignored", show_name(name), address.show());
            self.findings.push(Diagnostic::warning(at, message).related(first, "this server is used"));
        }
    }
}

/// Returns whether the target of a `*_pass` with a scheme, and without variables, has a path or query after the
/// address.
fn has_uri(target: &Text) -> bool {
    let begin = target.value.windows(3).position(|window| window == b"://");
    let Some(rest) = begin.map(|at| &target.value[at + 3..]).filter(|_| !target.has_variables()) else {
        return false;
    };
    match rest.strip_prefix(b"unix:") {
        Some(path) => path.contains(&b':'),
        None => rest.iter().any(|byte| matches!(byte, b'/' | b'?')),
    }
}

fn has_socket_options(listen: &ListenConf) -> bool {
    listen.bind
        || listen.reuseport
        || listen.deferred
        || !listen.ipv6only
        || listen.backlog.is_some()
        || listen.fastopen.is_some()
        || listen.rcvbuf.is_some()
        || listen.sndbuf.is_some()
        || listen.so_keepalive.is_some()
}

/// Address and transport of a socket. TCP, UDP and QUIC on the same address and port are different endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Endpoint<'a> {
    address: &'a ListenAddress,
    quic: bool,
    udp: bool,
}

impl<'a> Endpoint<'a> {
    pub(super) fn of(listen: &'a ListenConf) -> Self {
        Self { address: &listen.address, quic: listen.quic, udp: listen.udp }
    }

    pub(super) fn show(self) -> String {
        match self.address {
            ListenAddress::Ip(address) => address.to_string(),
            ListenAddress::Host(host, port) => format!("{host}:{port}"),
            ListenAddress::Unix(path) => format!("unix:{}", String::from_utf8_lossy(path)),
        }
    }
}

fn show_name(name: &ServerName) -> String {
    match name {
        ServerName::Exact(name) | ServerName::Dot(name) => name.clone(),
        ServerName::WildcardPrefix(name) => format!("*{name}"),
        ServerName::WildcardSuffix(name) => format!("{name}*"),
        ServerName::Regex(text) => format!("~{}", text.lossy()),
        ServerName::Hostname => "$hostname".to_owned(),
    }
}
