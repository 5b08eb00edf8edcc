//! `ssl_*` of servers and `proxy_ssl_*` of locations: use of the settings that `myriad-tls` compiles.

use std::sync::Arc;

use myriad_conf::model::ServerConf;
use myriad_conf::settings::{Http3Settings, OriginSettings, Settings, TlsSettings};
use myriad_conf::{Diagnostic, Span, Text};
use myriad_tls::acme_client::OcspStaple;
use myriad_tls::{ClientRules, NamedCertificates, OriginTlsConfig, ServerParts, TlsFileReader, is_ordered};
use rustls::ServerConfig;

use super::RuntimeCompiler;
use myriad_exchange::runtime::{NamedPair, OriginTlsPlace, PlannedStaple, ServerTls};

/// Returns the settings without `$acme_certificate` and its key, for a server without `acme_certificate`.
fn without_acme_certificate(settings: &TlsSettings) -> TlsSettings {
    let mut own = TlsSettings { certificates: Vec::new(), keys: Vec::new(), ..settings.clone() };
    for (index, certificate) in settings.certificates.iter().enumerate() {
        let key = settings.keys.get(index);
        if !is_ordered(certificate) && !key.is_some_and(is_ordered) {
            own.certificates.push(certificate.clone());
            own.keys.extend(key.cloned());
        }
    }
    own
}

impl<'a> RuntimeCompiler<'a> {
    fn tls_files(&self) -> TlsFileReader<'a> {
        TlsFileReader { read: self.environment.tls_files, folder: self.environment.folder }
    }

    /// Returns the value of a result; for an error, records it and returns `None`.
    fn value_or_error<T>(&mut self, result: Result<T, Box<Diagnostic>>) -> Option<T> {
        result.map_err(|error| self.errors.push(*error)).ok()
    }

    /// Compiles the TLS settings of a server, even if only another server on the same address has `listen … ssl`, as in
    /// nginx. A server with `ssl_reject_handshake on`, or whose only certificate is an inherited `$acme_certificate`
    /// without an `acme_certificate`, rejects handshakes. Errors are recorded; the result is then that of a server
    /// without certificates.
    pub(super) fn tls(&mut self, server: &ServerConf) -> ServerTls {
        let settings = &server.settings.tls;
        if settings.reject_handshake {
            return ServerTls::Rejects;
        }
        if settings.certificates.is_empty() {
            return ServerTls::None;
        }
        let ordered = self.acme_slot(server);
        let own;
        let mut settings: &TlsSettings = settings;
        if ordered.is_none() && settings.certificates.iter().any(is_ordered) {
            // The server inherits `ssl_certificate $acme_certificate` from `http`, but has no `acme_certificate`
            // itself.
            own = without_acme_certificate(settings);
            settings = &own;
            if settings.certificates.is_empty() {
                return ServerTls::Rejects;
            }
        }
        let staples = self.staples(&server.settings, settings);
        let files = self.tls_files();
        let parts = ServerParts { settings, files, ordered: ordered.as_ref(), staples: &staples };
        let config = myriad_tls::server_config(&parts, &mut self.environment.retained.tls);
        self.value_or_error(config).map_or(ServerTls::None, |config| ServerTls::Terminates(Arc::new(config)))
    }

    /// Returns the holder of the stapled OCSP response of each certificate of a server, in the order of
    /// `ssl_certificate`; empty unless responses are to be fetched (`ssl_stapling on` without `ssl_stapling_file`).
    fn staples(&mut self, server: &Settings, settings: &TlsSettings) -> Vec<Option<Arc<OcspStaple>>> {
        if !settings.stapling || settings.stapling_file.is_some() {
            return Vec::new();
        }
        let resolver = self.resolver(server);
        let resolver = resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms));
        let staples = myriad_tls::staples(settings, self.tls_files(), &mut self.environment.retained.tls);
        for staple in staples.iter().flatten() {
            if !self.staples.iter().any(|planned| Arc::ptr_eq(&planned.staple, staple)) {
                self.staples.push(PlannedStaple { staple: Arc::clone(staple), resolver: resolver.clone() });
            }
        }
        staples
    }

    /// Returns the TLS settings that offer HTTP/2 in addition to HTTP/1; `None` if neither the server nor any `listen`
    /// enables HTTP/2, or the server has no TLS.
    pub(super) fn tls_http2(&self, server: &ServerConf, tls: &ServerTls) -> Option<Arc<ServerConfig>> {
        let ServerTls::Terminates(config) = tls else { return None };
        let speaks = server.settings.http2.on || self.listens_http2;
        speaks.then(|| Arc::new(myriad_tls::with_http2(config)))
    }

    /// Returns the TLS settings of a server for HTTP/3; `None` if the server has no TLS, no QUIC listener, or `http3
    /// off`.
    pub(super) fn tls_http3(&mut self, server: &ServerConf, tls: &ServerTls) -> Option<Arc<ServerConfig>> {
        let ServerTls::Terminates(config) = tls else { return None };
        if !server.settings.http3.enabled || !server.listens.iter().any(|listen| listen.quic) {
            return None;
        }
        // Reads `quic_host_key` only to report errors: a configuration check has no listeners that would load the key.
        self.host_key(&server.settings.http3);
        Some(Arc::new(myriad_tls::quic_config(config, server.settings.tls.early_data)))
    }

    /// Returns the contents of `quic_host_key`; `None` if it is not set or cannot be read, which is recorded.
    pub(super) fn host_key(&mut self, http3: &Http3Settings) -> Option<Box<[u8]>> {
        let key = myriad_tls::host_key(http3, self.tls_files());
        self.value_or_error(key).flatten()
    }

    /// Returns the rules for verifying client certificates of a server; `None` if it requests none, or after an error,
    /// which is recorded.
    pub(super) fn client_rules(&mut self, server: &ServerConf) -> Option<Arc<ClientRules>> {
        let rules = ClientRules::of(&server.settings.tls, self.tls_files());
        let rules = self.value_or_error(rules).flatten()?;
        if !rules.uses_ocsp() {
            return Some(Arc::new(rules));
        }
        let resolver = self.resolver(&server.settings);
        let resolver = resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms));
        Some(Arc::new(rules.with_resolver(resolver)))
    }

    /// Returns all certificate pairs of a server if one of their file names contains variables; otherwise, and after an
    /// error, which is recorded, an empty list. The files are loaded during the handshake.
    pub(super) fn named_certificates(&mut self, server: &ServerConf) -> Vec<NamedPair> {
        let settings = &server.settings.tls;
        let files = myriad_tls::named_certificates(settings, self.tls_files());
        let Some(files) = self.value_or_error(files).flatten() else { return Vec::new() };
        let is_clients = myriad_tls::is_clients(settings);
        let pairs = settings.certificates.iter().zip(&settings.keys);
        pairs.map(|(certificate, key)| self.named_pair(certificate, key, &files, is_clients)).collect()
    }

    fn named_pair(
        &mut self,
        certificate: &Text,
        key: &Text,
        files: &Arc<NamedCertificates>,
        is_clients: bool,
    ) -> NamedPair {
        let (certificate, key) =
            self.after_all_rules(|compile| (compile.template(certificate), compile.template(key)));
        NamedPair { certificate, key, files: Arc::clone(files), is_clients }
    }

    /// Returns the TLS settings for connections to the origin of a location. `at` is the position of `*_pass`. Returns
    /// `None` if the settings have errors, which are recorded.
    pub(super) fn origin_tls(&mut self, origin: &OriginSettings, at: Span) -> Option<OriginTlsPlace> {
        let settings = &origin.tls;
        let made = OriginTlsConfig::of(origin, at, self.tls_files());
        let OriginTlsConfig { config, check, named, id } = self.value_or_error(made)?;
        let pair = settings.certificate.as_ref().zip(settings.key.as_ref()).zip(named);
        // With only one pair, the order of preference is irrelevant.
        let certificate =
            pair.map(|((certificate, key), files)| self.named_pair(certificate, key, &files, true));
        let name = settings.name.as_ref().map(|name| self.template(name));
        Some(OriginTlsPlace { config, check, name, certificate, id })
    }
}
