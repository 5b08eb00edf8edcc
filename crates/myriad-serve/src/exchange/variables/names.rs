//! Variable names to sources.

use myriad_conf::registry::{self, Status};
use myriad_encode::Coding;
use myriad_http::Known;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{Builtin, Catalogue, Role};

use super::{Source, TcpFigure, TlsFact, TlsMade};

const FIXED: &[(&str, Source)] = &[
    ("args", Source::Args),
    ("query_string", Source::Args),
    ("is_args", Source::IsArgs),
    ("device_class", Source::DeviceClass),
    ("uri", Source::Uri),
    ("document_uri", Source::Uri),
    ("request_uri", Source::RequestUri),
    ("request", Source::RequestLine),
    ("request_method", Source::Method),
    ("host", Source::Host),
    ("hostname", Source::Hostname),
    ("scheme", Source::Scheme),
    ("https", Source::Https),
    ("http2", Source::Http2),
    ("http3", Source::Http3),
    ("server_name", Source::ServerName),
    ("server_addr", Source::ServerAddr),
    ("server_port", Source::ServerPort),
    ("server_protocol", Source::ServerProtocol),
    ("remote_addr", Source::RemoteAddr),
    ("remote_port", Source::RemotePort),
    ("binary_remote_addr", Source::BinaryRemoteAddr),
    ("remote_user", Source::RemoteUser),
    ("document_root", Source::DocumentRoot),
    ("realpath_root", Source::RealpathRoot),
    ("request_filename", Source::RequestFilename),
    ("request_body", Source::RequestBody),
    ("request_body_file", Source::RequestBodyFile),
    ("request_completion", Source::RequestCompletion),
    ("request_id", Source::RequestId),
    ("request_length", Source::RequestLength),
    ("request_time", Source::RequestTime),
    ("bytes_sent", Source::BytesSent),
    ("body_bytes_sent", Source::BodyBytesSent),
    ("connection", Source::Connection),
    ("connection_requests", Source::ConnectionRequests),
    ("connection_time", Source::ConnectionTime),
    ("slice_range", Source::SliceRange),
    ("date_local", Source::DateLocal),
    ("date_gmt", Source::DateGmt),
    ("tcpinfo_rtt", Source::TcpInfo(TcpFigure::Rtt)),
    ("tcpinfo_rttvar", Source::TcpInfo(TcpFigure::RttVariation)),
    ("tcpinfo_snd_cwnd", Source::TcpInfo(TcpFigure::CongestionWindow)),
    ("tcpinfo_rcv_space", Source::TcpInfo(TcpFigure::ReceiveSpace)),
    ("request_port", Source::RequestPort),
    ("is_request_port", Source::IsRequestPort),
    ("ssl_protocol", Source::Tls(TlsFact::Protocol)),
    ("ssl_cipher", Source::Tls(TlsFact::Cipher)),
    ("ssl_curve", Source::Tls(TlsFact::Curve)),
    ("ssl_server_name", Source::Tls(TlsFact::ServerName)),
    ("ssl_session_reused", Source::Tls(TlsFact::SessionReused)),
    ("ssl_alpn_protocol", Source::Tls(TlsFact::AlpnProtocol)),
    ("ssl_ciphers", Source::TlsMade(TlsMade::Ciphers)),
    ("ssl_curves", Source::TlsMade(TlsMade::Curves)),
    ("ssl_sigalg", Source::TlsMade(TlsMade::Sigalg)),
    ("ssl_sigalgs", Source::TlsMade(TlsMade::Sigalgs)),
    ("ssl_client_sigalg", Source::TlsMade(TlsMade::ClientSigalg)),
    ("ssl_ech_status", Source::TlsMade(TlsMade::EncryptedHello)),
    ("ssl_ech_outer_server_name", Source::TlsMade(TlsMade::EncryptedHello)),
    ("ssl_session_id", Source::TlsMade(TlsMade::SessionId)),
    ("ssl_early_data", Source::TlsMade(TlsMade::EarlyData)),
    ("ssl_client_verify", Source::TlsMade(TlsMade::ClientVerify)),
    ("ssl_client_cert", Source::TlsMade(TlsMade::ClientCert)),
    ("ssl_client_raw_cert", Source::TlsMade(TlsMade::ClientRawCert)),
    ("ssl_client_escaped_cert", Source::TlsMade(TlsMade::ClientEscapedCert)),
    ("ssl_client_s_dn", Source::TlsMade(TlsMade::ClientSubject)),
    ("ssl_client_i_dn", Source::TlsMade(TlsMade::ClientIssuer)),
    ("ssl_client_s_dn_legacy", Source::TlsMade(TlsMade::ClientSubjectLegacy)),
    ("ssl_client_i_dn_legacy", Source::TlsMade(TlsMade::ClientIssuerLegacy)),
    ("ssl_client_serial", Source::TlsMade(TlsMade::ClientSerial)),
    ("ssl_client_fingerprint", Source::TlsMade(TlsMade::ClientFingerprint)),
    ("ssl_client_v_start", Source::TlsMade(TlsMade::ClientStart)),
    ("ssl_client_v_end", Source::TlsMade(TlsMade::ClientEnd)),
    ("ssl_client_v_remain", Source::TlsMade(TlsMade::ClientRemain)),
    ("msec", Source::Msec),
    ("time_local", Source::TimeLocal),
    ("time_iso8601", Source::TimeIso8601),
    ("status", Source::Status),
    ("pipe", Source::Pipe),
    ("pid", Source::Pid),
    ("limit_rate", Source::LimitRate),
    ("nginx_version", Source::NginxVersion),
    ("gzip_ratio", Source::Ratio(Coding::Gzip)),
    ("brotli_ratio", Source::Ratio(Coding::Brotli)),
    ("zstd_ratio", Source::Ratio(Coding::Zstd)),
    ("content_type", Source::Field(Known::ContentType)),
    ("content_length", Source::ContentLength),
    ("upstream_addr", Source::OriginAddr),
    ("upstream_status", Source::OriginStatus),
    ("upstream_response_time", Source::OriginResponseTime),
    ("upstream_connect_time", Source::OriginConnectTime),
    ("upstream_header_time", Source::OriginHeaderTime),
    ("upstream_response_length", Source::OriginResponseLength),
    ("upstream_bytes_sent", Source::OriginBytesSent),
    ("upstream_bytes_received", Source::OriginBytesReceived),
    ("upstream_cache_status", Source::CacheStatus),
    ("upstream_cache_key", Source::CacheKey),
    ("upstream_cache_age", Source::CacheAge),
    ("upstream_cache_last_modified", Source::CacheLastModified),
    ("upstream_cache_etag", Source::CacheEtag),
    ("fastcgi_script_name", Source::FastCgiScriptName),
    ("fastcgi_path_info", Source::FastCgiPathInfo),
    ("proxy_host", Source::ProxyHost),
    ("proxy_port", Source::ProxyPort),
    ("proxy_internal_uri", Source::ProxyUri),
    ("proxy_internal_scheme", Source::ProxyScheme),
    ("realip_remote_addr", Source::PeerAddr),
    ("realip_remote_port", Source::PeerPort),
    ("proxy_protocol_addr", Source::ProxiedAddr),
    ("proxy_protocol_port", Source::ProxiedPort),
    ("proxy_protocol_server_addr", Source::ProxiedServerAddr),
    ("proxy_protocol_server_port", Source::ProxiedServerPort),
    ("invalid_referer", Source::InvalidReferer),
    ("connections_active", Source::ConnectionsActive),
    ("connections_reading", Source::ConnectionsReading),
    ("connections_writing", Source::ConnectionsWriting),
    ("connections_waiting", Source::ConnectionsWaiting),
    ("limit_req_status", Source::LimitReqStatus),
    ("limit_conn_status", Source::LimitConnStatus),
    ("proxy_add_x_forwarded_for", Source::ProxyAddForwardedFor),
];

/// Resolves names while a configuration is compiled, and collects the sources in use.
#[derive(Default)]
pub(crate) struct VariableNames {
    sources: Vec<Source>,
}

impl VariableNames {
    /// The sources, indexed by [`Builtin`].
    pub(crate) fn into_sources(self) -> Vec<Source> {
        self.sources
    }

    /// The source behind an id that this catalogue gave.
    pub(crate) fn source(&self, id: Builtin) -> &Source {
        &self.sources[id.0 as usize]
    }

    fn intern(&mut self, source: Source) -> Builtin {
        let index = self.sources.iter().position(|known| *known == source).unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        Builtin(index as u32)
    }
}

impl Catalogue for VariableNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, Role)> {
        if let Some((_, source)) = FIXED.iter().find(|(known, _)| *known == name) {
            let role = match source {
                Source::Args | Source::LimitRate => Role::Assignable,
                _ => Role::Fixed,
            };
            return Some((self.intern(source.clone()), role));
        }
        let source = prefixed(name)?;
        Some((self.intern(source), Role::Shadowable))
    }

    fn names(&self) -> &[&str] {
        static NAMES: std::sync::OnceLock<Vec<&'static str>> = std::sync::OnceLock::new();
        NAMES.get_or_init(|| FIXED.iter().map(|(name, _)| *name).collect())
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        match registry::variable(name)?.status {
            Status::Refused(reason) => Some(reason),
            _ => None,
        }
    }
}

fn prefixed(name: &str) -> Option<Source> {
    let field = |rest: &str| rest.replace('_', "-").into_boxed_str();
    if let Some(rest) = name.strip_prefix("http_") {
        let field = field(rest);
        return Some(match Known::from_bytes(field.as_bytes()) {
            Some(known) => Source::Field(known),
            None => Source::OtherField(field),
        });
    }
    if let Some(rest) = name.strip_prefix("proxy_protocol_tlv_") {
        return Some(Source::ProxiedFact(Tlv::named(rest)));
    }
    if let Some(rest) = name.strip_prefix("arg_") {
        return Some(Source::Arg(rest.as_bytes().into()));
    }
    if let Some(rest) = name.strip_prefix("cookie_") {
        return Some(Source::Cookie(rest.as_bytes().into()));
    }
    if let Some(rest) = name.strip_prefix("sent_http_") {
        return Some(Source::SentField(field(rest)));
    }
    if let Some(rest) = name.strip_prefix("sent_trailer_") {
        return Some(Source::SentTrailer(field(rest)));
    }
    if let Some(rest) = name.strip_prefix("upstream_http_") {
        return Some(Source::OriginField(field(rest)));
    }
    if let Some(rest) = name.strip_prefix("upstream_trailer_") {
        return Some(Source::OriginTrailer(field(rest)));
    }
    let rest = name.strip_prefix("upstream_cookie_")?;
    Some(Source::OriginCookie(rest.as_bytes().into()))
}

#[cfg(test)]
mod tests {
    use myriad_conf::registry::{variable, variables};

    use super::*;

    #[test]
    fn the_registry_and_the_sources_name_the_same_variables() {
        let mut names = VariableNames::default();
        let mut wrong = Vec::new();
        for (name, _) in FIXED {
            match variable(name).map(|row| row.status) {
                None => wrong.push(format!("${name} is missing in registry/variables.rs")),
                Some(Status::Refused(_)) => {
                    wrong.push(format!("${name} has a value, and its row says refused"));
                }
                Some(_) => {}
            }
        }
        for row in variables().filter(|row| !matches!(row.status, Status::Refused(_))) {
            let name = if row.name.ends_with('_') { format!("{}x", row.name) } else { row.name.to_owned() };
            if names.builtin(&name).is_none() {
                wrong.push(format!("${name} has no value, and its row says {:?}", row.status));
            }
        }
        assert_eq!(wrong, [""; 0]);
    }
}
