//! Observer of a request to an origin: writes the error log and forwards interim responses.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use myriad_http::head::reason_phrase;
use myriad_http::{HttpVersion, ResponseHead};
use myriad_log::LogLevel;
use myriad_net::Connection;
use myriad_upstream::{OriginError, PeerAddress, Phase};

use crate::connection_listed_fields::ConnectionListedFields;
use crate::early_hints;
use myriad_exchange::exchange::{ErrorLogContext, Exchange};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::{OriginPlace, PlaceId};

/// Observer of a request to an origin: logs its events and forwards interim responses to the client.
pub struct OriginObserver {
    site: Rc<Generation>,
    place: PlaceId,
    origin: Arc<OriginPlace>,
    /// Number of the client connection, for error log lines.
    connection: u64,
    /// Client and referrer for error log lines.
    context: ErrorLogContext,
    /// Client connection that receives interim responses; `None` if none are forwarded.
    client: Option<InterimReceiver>,
}

/// Client connection that receives interim responses.
struct InterimReceiver {
    connection: Rc<Connection>,
    /// Number of the client's request on its connection.
    number: u32,
    /// True if all interim (1xx) responses except 100 are forwarded, as RFC 9110 section 15.2 requires of proxies;
    /// false if only 103 is forwarded.
    all: bool,
}

/// Maximum size in bytes of the fields of a forwarded interim (1xx) response; a larger one is dropped.
const INTERIM_MAX: usize = 8 << 10;

impl OriginObserver {
    /// Creates the observer of a request to an origin.
    ///
    /// `waits` is true if the client waits for the head of this response; interim responses may be forwarded to it
    /// then.
    pub fn of(
        exchange: &mut Exchange,
        origin: &Arc<OriginPlace>,
        waits: bool,
    ) -> Rc<dyn myriad_upstream::UpstreamObserver> {
        let client = if waits { interim_receiver(exchange, origin) } else { None };
        let request = &exchange.request;
        Rc::new(Self {
            site: Rc::clone(&request.site),
            place: request.route.place,
            origin: Arc::clone(origin),
            connection: request.received.connection.id,
            context: request.error_log_context(),
            client,
        })
    }

    fn write(&self, level: LogLevel, peer: Option<&PeerAddress>, message: fmt::Arguments<'_>) {
        let log = &self.site.runtime.place(self.place).logs.errors;
        let (who, host) = (self.context.client_text(), self.context.referrer_text());
        let peer = peer.map_or_else(String::new, |peer| format!(", upstream: \"{peer}\""));
        log.write(level, Some(self.connection), format_args!("{message}{who}{peer}{host}"));
    }
}

impl myriad_upstream::UpstreamObserver for OriginObserver {
    fn stderr(&self, peer: &PeerAddress, text: &[u8], phase: Phase) {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end();
        let message = format_args!("FastCGI sent in stderr: \"{text}\" while {}", phase.as_str());
        self.write(LogLevel::Error, Some(peer), message);
    }

    fn invalidates(&self, text: &[u8]) -> bool {
        self.origin.protocol.invalidates(text)
    }

    fn interim(&self, head: &ResponseHead) {
        // 100 would be a response to a request of this server, which does not send `Expect`.
        let is_forwarded = |client: &&InterimReceiver| head.status == 103 || client.all && head.status != 100;
        let Some(client) = self.client.as_ref().filter(is_forwarded) else { return };
        let mut lines = Vec::new();
        let nominated = ConnectionListedFields::of(&head.fields);
        for (known, name, value) in head.fields.iter_known() {
            if !nominated.has(name) && self.origin.passes_trailer(known, name) {
                for part in [name, b": ", value, b"\r\n"] {
                    lines.extend_from_slice(part);
                }
            }
        }
        if lines.len() <= INTERIM_MAX {
            client.connection.send_interim(client.number, head.status, reason_phrase(head.status), &lines);
        }
    }

    fn warning(&self, peer: &PeerAddress, text: &str) {
        self.write(LogLevel::Warn, Some(peer), format_args!("{text}"));
    }

    fn retried(&self, error: &OriginError) {
        self.write(LogLevel::Error, error.peer(), format_args!("{error}"));
    }
}

/// Returns the client connection if interim responses are forwarded: `early_hints` or `cache_rfc9111` enables them, the
/// origin's protocol has interim responses, and the client uses HTTP/1.1 or above. `None` for a subrequest.
fn interim_receiver(exchange: &mut Exchange, origin: &OriginPlace) -> Option<InterimReceiver> {
    if !origin.protocol.has_interim() {
        return None;
    }
    let all = origin.answer.passes_interim;
    let wanted = exchange.request.received.head.version() != HttpVersion::Http10
        && !exchange.request.is_subrequest()
        && (all || early_hints::is_enabled(exchange));
    let request = &exchange.request;
    wanted.then(|| InterimReceiver {
        connection: Rc::clone(&request.received.connection),
        number: request.received.number,
        all,
    })
}
