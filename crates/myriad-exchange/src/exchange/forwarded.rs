//! Scheme and host of a request as reported by a trusted proxy.

use myriad_http::Known;

use super::Request;

impl Request {
    /// Returns true if the connection to this server uses TLS, or a proxy of `forwarded_scheme_from` reports that the
    /// client used https.
    pub fn is_https(&self) -> bool {
        self.received.connection.tls().is_some() || self.is_forwarded_https()
    }

    /// Returns true if a proxy of `forwarded_scheme_from` reports with `X-Forwarded-Proto` that the client used https.
    /// If the value is a list, every element must be `https`: otherwise one of the hops was not encrypted, or the
    /// client wrote a part of the list.
    pub fn is_forwarded_https(&self) -> bool {
        let fields = self.received.head.fields();
        fields.has(Known::XForwardedProto)
            && self.runtime().forwarded.trusts_scheme_of(self.received.connection.peer.ip())
            && fields
                .known_all(Known::XForwardedProto)
                .flat_map(|value| value.split(|byte| *byte == b','))
                .all(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
    }

    /// Returns the last host in `X-Forwarded-Host`, which the nearest proxy has added; `None` if the field is absent or
    /// empty, and if that proxy is not in `forwarded_host_from`. The host is used only if `Host` matches no
    /// `server_name`.
    pub fn forwarded_host(&self) -> Option<&[u8]> {
        let fields = self.received.head.fields();
        if !fields.has(Known::XForwardedHost)
            || !self.runtime().forwarded.trusts_host_of(self.received.connection.peer.ip())
        {
            return None;
        }
        let last = fields.known_all(Known::XForwardedHost).last()?;
        let host = last.rsplit(|byte| *byte == b',').next()?.trim_ascii();
        (!host.is_empty()).then_some(host)
    }
}
