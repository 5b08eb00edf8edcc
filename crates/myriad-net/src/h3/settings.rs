//! QUIC settings of a listener.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{ServerConfig, TransportConfig, VarInt};

use super::address_proof::AddressProof;
use super::tls::{ChooseTls, QuicServerCrypto};
use super::tokens::QuicTokens;
use crate::client_timeouts::MinRate;

/// Maximum number of unacknowledged response bytes per connection. Bytes of cached responses are shared, not copied.
const SEND_WINDOW: u64 = 1 << 20;
/// Maximum number of unidirectional streams that a client may open. HTTP/3 needs three, and some clients open others as
/// a test.
const ONE_WAY: u32 = 8;
/// Maximum idle time of a QUIC connection in milliseconds (one day), even if `keepalive_timeout` is longer.
const LONGEST_SILENCE_MS: u64 = 86_400_000;

/// QUIC settings for new connections.
#[derive(Clone)]
pub struct QuicSettings {
    /// Selection of TLS settings by the requested server name.
    pub tls: Arc<dyn ChooseTls>,
    /// Maximum number of concurrent requests per connection (`http3_max_concurrent_streams`).
    pub streams: u32,
    /// `http3_stream_buffer_size`: receive window of a request stream, in bytes.
    pub stream_buffer: u64,
    /// True if all clients must validate their addresses before the handshake (`quic_retry`).
    pub retry: bool,
    /// True if several datagrams are sent with one system call (`quic_gso`).
    pub gso: bool,
    /// `keepalive_timeout`: maximum idle time of a connection, in milliseconds; 0 closes it after the first response.
    pub idle_ms: u64,
    /// `client_min_rate`: minimum transfer rate, here applied to request heads.
    pub min_rate: MinRate,
    /// `client_header_timeout`: maximum duration of a handshake, and maximum age of a stream until its request is
    /// passed to the service, in milliseconds; 0 for no limit.
    pub handshake_ms: u64,
}

impl QuicSettings {
    /// Returns the interval at which the rate of an incomplete request head is checked; `None` if there is no minimum
    /// rate.
    pub(super) fn head_grace(&self) -> Option<Duration> {
        let rate = self.min_rate;
        (rate.bytes_per_second > 0).then(|| Duration::from_millis(u64::from(rate.grace_ms)))
    }

    /// Returns the maximum idle time of a connection. With `keepalive_timeout 0` the client gets the time limit of the
    /// handshake to send its first request, or [`LONGEST_SILENCE_MS`] if that is unlimited.
    pub(super) fn idle(&self) -> Duration {
        let limits = [self.idle_ms, self.handshake_ms, LONGEST_SILENCE_MS];
        let idle_ms = limits.into_iter().find(|limit| *limit > 0).unwrap_or(LONGEST_SILENCE_MS);
        Duration::from_millis(idle_ms.min(LONGEST_SILENCE_MS))
    }

    /// Converts the settings to quinn's configuration of one connection, whose handshake sets `proof`.
    pub(super) fn server_config(&self, tokens: &QuicTokens, proof: &AddressProof) -> Arc<ServerConfig> {
        let window = VarInt::from_u64(self.stream_buffer).unwrap_or(VarInt::MAX);
        // The receive window of the connection is sixteen stream windows.
        let together = VarInt::from_u64(self.stream_buffer.saturating_mul(16)).unwrap_or(VarInt::MAX);
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams))
            .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY))
            .stream_receive_window(window)
            .receive_window(together)
            .send_window(SEND_WINDOW)
            .send_fairness(false)
            .datagram_receive_buffer_size(None)
            .max_idle_timeout(self.idle().try_into().ok())
            .enable_segmentation_offload(self.gso);
        let crypto = Arc::new(QuicServerCrypto::new(Arc::clone(&self.tls), proof.clone()));
        let mut config = ServerConfig::new(crypto, Arc::clone(&tokens.key) as _);
        config.transport_config(Arc::new(transport)).validation_token_config(tokens.config());
        Arc::new(config)
    }
}
