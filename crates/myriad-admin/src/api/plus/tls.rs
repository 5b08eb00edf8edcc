//! Objects with TLS counts.

use myriad_exchange::traffic::TlsSums;
use myriad_upstream::TlsCounts;
use serde_json::{Value, json};

use super::node::members;

/// Returns the TLS counts of connections to a peer.
pub(super) fn of_peer(counts: &TlsCounts) -> Value {
    json!({
        "handshakes": counts.handshakes,
        "handshakes_failed": counts.handshakes_failed,
        "session_reuses": counts.session_reuses,
        "no_common_protocol": counts.no_common_protocol,
        "handshake_timeout": counts.handshake_timeout,
        "peer_rejected_cert": counts.peer_rejected_cert,
        "verify_failures": {
            "expired_cert": counts.expired_cert,
            "revoked_cert": counts.revoked_cert,
            "hostname_mismatch": counts.hostname_mismatch,
            "other": counts.other_cert,
        },
    })
}

/// Returns the TLS counts of client connections: of a zone (`is_zone`) or of the process. Before version 8, only the
/// handshakes and session reuses are included.
pub(super) fn of_clients(sums: &TlsSums, is_zone: bool, version: u8) -> Value {
    let mut object = members(json!({
        "handshakes": sums.handshakes,
        "handshakes_failed": sums.handshakes_failed,
        "session_reuses": sums.session_reuses,
    }));
    if version < 8 {
        return Value::Object(object);
    }
    let mut failures = members(json!({
        "no_cert": sums.verify_no_cert,
        "expired_cert": sums.verify_expired_cert,
        "revoked_cert": sums.verify_revoked_cert,
        "other": sums.verify_other,
    }));
    if !is_zone {
        failures.insert("hostname_mismatch".to_owned(), json!(sums.verify_hostname_mismatch));
    }
    object.extend(members(json!({
        "no_common_protocol": sums.no_common_protocol,
        "no_common_cipher": sums.no_common_cipher,
        "handshake_timeout": sums.handshake_timeout,
        "peer_rejected_cert": sums.peer_rejected_cert,
        "verify_failures": failures,
    })));
    Value::Object(object)
}
