//! Checks of a client's connection before its request is processed: certificates (nginx's 495, 496), the server named
//! in the handshake (421), and early data that may be a replay (425).

use myriad_http::Method;
use myriad_log::LogLevel;
use myriad_tls::StatusCheck;

use myriad_exchange::counting;
use myriad_exchange::exchange::Exchange;

/// Error response to a client: the server does not accept its certificate, or the lack of one; its handshake named
/// another server; or its request is early data that must not be replayed.
pub(super) struct ClientRejection {
    pub(super) status: u16,
    pub(super) message: String,
}

/// Returns the OCSP query that is required before the client's certificate can be verified (`ssl_ocsp`); `None` if none
/// is required, or if the request is for another server than the handshake, so that it is rejected.
pub(super) fn required_status_check(exchange: &Exchange) -> Option<StatusCheck> {
    let request = &exchange.request;
    let rules = request.server().clients.as_ref().filter(|rules| rules.uses_ocsp())?;
    let facts = request.received.connection.tls()?;
    // No query is needed for a request that will be rejected.
    if facts.server_name.as_deref().is_some_and(|name| !is_host(name, &request.route.host)) {
        return None;
    }
    myriad_tls::required_status_check(facts, rules, now_s())
}

/// Waits for the OCSP responses and stores the result of the verification in the connection. An error of a query is
/// logged.
pub(super) async fn run_status_check(exchange: &mut Exchange, check: StatusCheck) {
    let (judged, why) = check.run(now_s()).await;
    if let Some(why) = why {
        exchange.request.log(LogLevel::Error, format_args!("{why}"));
    }
    if let Some(facts) = exchange.request.received.connection.tls() {
        facts.judged.set(Some(judged));
    }
}

fn now_s() -> i64 {
    (myriad_net::clock::wall_ms() / 1000).cast_signed()
}

/// Returns the rejection of a request whose client may not use the selected server, or that is early data and must not
/// be replayed; otherwise `None`. Counts rejections for a missing or invalid certificate.
pub(super) fn check_client(exchange: &Exchange) -> Option<ClientRejection> {
    let request = &exchange.request;
    let server = request.server();
    // Early data may be a replay, whichever server accepted the handshake.
    if !is_safe(request.received.head.method()) && request.received.connection.is_early() {
        let message = "client sent early data with a request that must not be replayed".to_owned();
        return Some(ClientRejection { status: 425, message });
    }
    let rules = server.clients.as_ref()?;
    let facts = request.received.connection.tls()?;
    if facts.server_name.as_deref().is_some_and(|name| !is_host(name, &request.route.host)) {
        let message =
            "client attempted to request the server name different from the one that was negotiated"
                .to_owned();
        return Some(ClientRejection { status: 421, message });
    }
    match myriad_tls::verify_client(facts, Some(rules), now_s()) {
        None if rules.mandatory => {
            counting::unverified(request, 0);
            Some(ClientRejection {
                status: 496,
                message: "client sent no required SSL certificate".to_owned(),
            })
        }
        None | Some(Ok(())) => None,
        // Codes 18 to 21: unknown issuer, which `optional_no_ca` allows.
        Some(Err((18..=21, _))) if rules.accepts_unknown_authority => None,
        Some(Err((code, why))) => {
            counting::unverified(request, code);
            let message = format!("client SSL certificate verify error: ({code}:{why})");
            Some(ClientRejection { status: 495, message })
        }
    }
}

fn is_host(name: &str, host: &[u8]) -> bool {
    name.trim_end_matches('.').as_bytes().eq_ignore_ascii_case(host)
}

/// Returns whether early data may contain a request with this method, because a replay of it has no effect (RFC 8470
/// section 4): GET, HEAD or OPTIONS.
fn is_safe(method: Method) -> bool {
    matches!(method, Method::Get | Method::Head | Method::Options)
}
