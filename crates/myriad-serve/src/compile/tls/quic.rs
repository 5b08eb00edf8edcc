//! `http3*`, `quic_*`: TLS over QUIC.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::model::ServerConf;
use myriad_conf::settings::Http3Settings;
use rustls::ServerConfig;

use super::tls_path;
use crate::compile::Compile;
use crate::runtime::ServerTls;

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
            // Sessions are kept here then, and each goes with its first use (RFC 8446 section 8.1).
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
