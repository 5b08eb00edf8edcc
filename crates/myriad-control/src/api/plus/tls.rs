//! Counts of TLS.

use myriad_upstream::TlsCounts;
use serde_json::{Value, json};

/// TLS with a peer.
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
