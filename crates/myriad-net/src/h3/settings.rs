//! How QUIC is spoken on a listener.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{ServerConfig, TransportConfig, VarInt};

use super::address_proof::AddressProof;
use super::tls::{ChooseTls, Crypto};
use super::tokens::QuicTokens;
use crate::patience::MinRate;

/// Bytes of answers that a connection may hold until its client has acknowledged them. Pages of the cache are not copied
/// for it.
const SEND_WINDOW: u64 = 1 << 20;
/// One-way streams that a client may open: HTTP/3 needs three, and some clients try whether others are borne.
const ONE_WAY: u32 = 8;
/// A client that is silent for so long while it has no request under way is gone, whatever `keepalive_timeout` says: a
/// connection that answers nothing is of no use to it. A day.
const LONGEST_SILENCE_MS: u64 = 86_400_000;

/// What holds for connections that begin now.
#[derive(Clone)]
pub struct QuicSettings {
    /// How the server that a client names speaks TLS.
    pub tls: Arc<dyn ChooseTls>,
    /// `http3_max_concurrent_streams`.
    pub streams: u32,
    /// `http3_stream_buffer_size`, bytes.
    pub stream_buffer: u64,
    /// `quic_retry`.
    pub retry: bool,
    /// `quic_gso`.
    pub gso: bool,
    /// `keepalive_timeout`: how long a connection without a request is kept, milliseconds.
    pub idle_ms: u64,
    /// `client_min_rate`, for heads.
    pub min_rate: MinRate,
    /// `client_header_timeout`: how long a handshake may take, milliseconds; 0 for no limit.
    pub handshake_ms: u64,
}

impl QuicSettings {
    /// When a head is looked at that has not come whole; none where it may come as slowly as it does.
    pub(super) fn head_grace(&self) -> Option<Duration> {
        let rate = self.min_rate;
        (rate.bytes_per_second > 0).then(|| Duration::from_millis(u64::from(rate.grace_ms)))
    }

    /// How long a connection without a request is kept. One that ends with its first answer waits for the request, as long as
    /// for the handshake.
    pub(super) fn idle(&self) -> Duration {
        let limits = [self.idle_ms, self.handshake_ms, LONGEST_SILENCE_MS];
        let idle_ms = limits.into_iter().find(|limit| *limit > 0).unwrap_or(LONGEST_SILENCE_MS);
        Duration::from_millis(idle_ms.min(LONGEST_SILENCE_MS))
    }

    /// The settings in quinn's words, for a connection whose client gives that proof of its address.
    pub(super) fn server_config(&self, tokens: &QuicTokens, proof: &AddressProof) -> Arc<ServerConfig> {
        let window = VarInt::from_u64(self.stream_buffer).unwrap_or(VarInt::MAX);
        // All streams together may have as much waiting as sixteen of them.
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
        let crypto = Arc::new(Crypto::new(Arc::clone(&self.tls), proof.clone()));
        let mut config = ServerConfig::new(crypto, Arc::clone(&tokens.key) as _);
        config.transport_config(Arc::new(transport)).validation_token_config(tokens.config());
        Arc::new(config)
    }
}
