//! `http3*`, `quic_*`: TLS over QUIC.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::model::ServerConf;
use myriad_conf::settings::Http3Settings;
use rustls::ServerConfig;
use rustls::server::ServerSessionMemoryCache;

use super::tls_path;
use crate::compile::Compile;
use crate::runtime::ServerTls;

/// Sessions that are kept for clients that send their first request at once; each is taken once.
const EARLY_SESSIONS: usize = 20_480;
/// QUIC knows no other limit of early data than none (RFC 9001 section 4.6.1).
const UNLIMITED: u32 = u32::MAX;

impl Compile<'_> {
    /// The settings of a server's TLS for HTTP/3; none where it does not speak that.
    pub(in crate::compile) fn tls_http3(
        &mut self,
        server: &ServerConf,
        tls: &ServerTls,
    ) -> Option<Arc<ServerConfig>> {
        let ServerTls::Speaks(config) = tls else { return None };
        if !server.settings.http3.enabled || !server.listens.iter().any(|listen| listen.quic) {
            return None;
        }
        // A check of the configuration has no listeners that would ask for it.
        self.host_key(&server.settings.http3);
        let mut config = ServerConfig::clone(config);
        config.alpn_protocols = vec![b"h3".to_vec()];
        config.max_fragment_size = None;
        config.max_early_data_size = 0;
        if server.settings.tls.early_data {
            // A ticket that the client keeps could be used twice, and the request with it: sessions are kept here, and each
            // goes with its first use (RFC 8446 section 8.1).
            let kept = &mut self.around.kept.tls.early;
            let sessions = kept.get_or_insert_with(|| ServerSessionMemoryCache::new(EARLY_SESSIONS));
            config.session_storage = Arc::clone(sessions) as _;
            config.ticketer = Arc::new(NoTickets);
            config.send_tls13_tickets = super::TICKETS;
            config.max_early_data_size = UNLIMITED;
        }
        Some(Arc::new(config))
    }

    /// `quic_host_key`.
    pub(in crate::compile) fn host_key(&mut self, http3: &Http3Settings) -> Option<Box<[u8]>> {
        let name = http3.host_key.as_ref()?;
        let path = tls_path(self.around.folder, name);
        match self.around.tls_files.get(&path) {
            Some(bytes) if !bytes.is_empty() => return Some(bytes.as_slice().into()),
            Some(_) => {
                let message = format!("\"{}\" zero key size", path.display());
                let help = "write random bytes into it: openssl rand -out FILE 32";
                self.errors.push(Diagnostic::error(name.span, message).help(help));
            }
            None => {
                let message = format!("cannot read \"{}\"", path.display());
                self.errors.push(Diagnostic::error(name.span, message));
            }
        }
        None
    }
}

/// No tickets that hold a session themselves.
#[derive(Debug)]
struct NoTickets;

impl rustls::server::ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
