//! `ssl_*` to the settings of rustls, one for each server that speaks TLS.

mod choice;
mod clients;
mod files;
mod identity;
mod named;
mod origin;
mod quic;
mod resumption;
mod stapling;
mod warnings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_acme::{Slot, Staple};
use myriad_conf::model::ServerConf;
use myriad_conf::settings::{Handler, Protocol, TlsSettings};
use myriad_conf::{Diagnostic, Model, Text};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ServerConfig, version};

use super::Compile;
use crate::runtime::ServerTls;
use identity::Identities;
pub(super) use identity::is_ordered;

pub(crate) use resumption::TlsKept;
pub use warnings::tls_warnings;

/// Certificates and keys by path, as whoever may read them has read them.
pub type TlsFiles = HashMap<PathBuf, Vec<u8>>;

/// What a record needs beside its content, as rustls counts it.
const RECORD_OVERHEAD: u64 = 5;
/// The bounds of rustls for a record.
const RECORDS: std::ops::RangeInclusive<u64> = 32..=16_389;

/// The files of certificates, keys and passwords that a model names, but for those that variables name.
pub fn tls_files(model: &Model) -> impl Iterator<Item = &Text> {
    let servers = model.http.iter().flat_map(|http| &http.servers).map(|server| &server.settings);
    let own = servers.flat_map(|settings| {
        let tls = &settings.tls;
        let pairs = tls.certificates.iter().chain(&tls.keys).filter(|name| is_tls_file(name));
        let passwords = tls.password_file.iter().filter(|_| !tls.certificates.is_empty());
        let stapled = tls.stapling_file.iter().filter(|_| tls.stapling);
        let sealing = tls.ticket_keys.iter().chain(&settings.http3.host_key);
        // Read as nginx reads them, though suites with DHE are not offered.
        let parameters = tls.dhparam.iter().filter(|name| !tls.certificates.is_empty() && !name.is_empty());
        pairs.chain(passwords).chain(stapled).chain(sealing).chain(parameters).chain(clients::files(tls))
    });
    let places = model.http.iter().flat_map(|http| http.levels()).filter(|settings| {
        matches!(settings.handler, Some(Handler::Origin { protocol: Protocol::Http, .. }))
    });
    let of_origins = places.flat_map(|settings| origin::files(&settings.proxy.tls));
    own.chain(of_origins).chain(super::acme::files(model))
}

/// Whether a name of a certificate or key is that of a file.
pub fn is_tls_file(name: &Text) -> bool {
    !name.is_empty() && !name.has_variables() && !name.bytes().starts_with(b"data:")
}

/// Where a file of certificates or keys is: relative names start from the folder of the configuration, as in nginx.
pub fn tls_path(folder: &Path, name: &Text) -> PathBuf {
    folder.join(myriad_files::as_path(name.bytes()))
}

impl Compile<'_> {
    /// As nginx, whether its own `listen` says `ssl` or that of another server on the same address.
    pub(super) fn tls(&mut self, server: &ServerConf) -> ServerTls {
        let settings = &server.settings.tls;
        if settings.reject_handshake {
            return ServerTls::Rejects;
        }
        if settings.certificates.is_empty() {
            return ServerTls::None;
        }
        let ordered = self.acme_slot(server);
        let staples = self.staples(&server.settings);
        match self.server_config(settings, ordered.as_ref(), &staples) {
            Ok(config) => ServerTls::Speaks(Arc::new(config)),
            Err(error) => {
                self.errors.push(*error);
                ServerTls::None
            }
        }
    }

    /// The same for clients that may have HTTP/2, none where nobody may: the address or the server says so.
    pub(super) fn tls_http2(&self, server: &ServerConf, tls: &ServerTls) -> Option<Arc<ServerConfig>> {
        let ServerTls::Speaks(config) = tls else { return None };
        let mut listens = self.http.servers.iter().flat_map(|server| &server.listens);
        if !server.settings.http2.on && !listens.any(|listen| listen.http2) {
            return None;
        }
        let mut config = ServerConfig::clone(config);
        config.alpn_protocols.insert(0, b"h2".to_vec());
        Some(Arc::new(config))
    }

    fn server_config(
        &mut self,
        settings: &TlsSettings,
        ordered: Option<&Arc<Slot>>,
        staples: &[Option<Arc<Staple>>],
    ) -> Result<ServerConfig, Box<Diagnostic>> {
        let offer = Offer {
            ciphers: settings.ciphers.as_ref(),
            curves: settings.curves.as_ref(),
            commands: &settings.commands,
        };
        let mut provider = provider(&offer)?;
        if settings.ciphers.is_none() && settings.commands.is_empty() {
            choice::cheapest_first(&mut provider);
        }
        let verifier = self.client_verifier(settings, &provider)?;
        let identities = Identities::read(settings, (ordered, staples), self.tls_reader(), &provider)?;
        let mut versions = Vec::new();
        if settings.tls13 {
            versions.push(&version::TLS13);
        }
        if settings.tls12 {
            versions.push(&version::TLS12);
        }
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&versions)
            .map_err(|error| Box::new(Diagnostic::error(settings.certificates[0].span, error.to_string())))?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(identities));
        config.alpn_protocols = vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()];
        config.ignore_client_order = settings.prefer_server_ciphers.unwrap_or(true);
        // Where nothing is written the connection sizes its records.
        config.max_fragment_size = settings.buffer_size.map(|size| {
            (size.saturating_add(RECORD_OVERHEAD)).clamp(*RECORDS.start(), *RECORDS.end()) as usize
        });
        if !settings.certificate_compression {
            config.cert_compressors.clear();
        }
        self.resume(settings, ordered.map(AsRef::as_ref), &mut config)?;
        Ok(config)
    }
}

/// What the configuration says of suites and groups.
struct Offer<'a> {
    ciphers: Option<&'a Text>,
    curves: Option<&'a Text>,
    commands: &'a [(Text, Text)],
}

/// What is offered, in the order of the configuration.
fn provider(offer: &Offer<'_>) -> Result<CryptoProvider, Box<Diagnostic>> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(ciphers) = offer.ciphers {
        provider.cipher_suites = choice::suites(ciphers, &provider.cipher_suites)?;
    }
    if let Some(curves) = offer.curves {
        provider.kx_groups = choice::groups(curves, &provider.kx_groups)?;
    }
    for command in offer.commands {
        choice::command(command, &mut provider)?;
    }
    Ok(provider)
}
