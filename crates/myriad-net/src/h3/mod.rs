//! HTTP/3: QUIC connections over the datagrams of a listening socket; each stream is an exchange.
//!
//! ```text
//!   socket -> DatagramSocket -> route by connection ID -+-> Endpoint (quinn-proto) -> Client -> RequestStream -> Service
//!        other worker <-Crossing, other process <-Relay-+                      |           |
//!   socket <- DatagramSocket <-------------------- datagrams, segmented by kernel <-- streams <-- Sending <- Response
//! ```
//!
//! The protocol state machines are those of quinn, without its runtime: one task per listener and worker owns them all,
//! so no state is locked or sent between threads except datagrams received by the wrong thread. TLS is rustls with the
//! same settings as on TCP. Pending work (an origin, a slow body) adds a wake to [`stream_wakes::StreamWakes`]; the
//! task processes the streams in it.
//!
//! The memory that a client can use is limited: streams and their windows by the settings of the listener, unsent
//! responses by `settings::SEND_WINDOW` per connection, concurrent handshakes per network and in total (above that,
//! clients must validate their address with a Retry), unknown connection IDs by stateless resets. An address that has
//! not been validated gets at most three times the bytes that it sent (RFC 9000 section 8.1).

mod acceptor_refs;
mod address_proof;
mod cid;
mod client;
mod datagram_socket;
mod handshakes;
mod hubs;
mod listener;
mod relay;
mod request;
mod response_sender;
mod secret;
mod settings;
mod stream_wakes;
mod timers;
mod tls;
mod tokens;
mod unvalidated_address;
mod worker_inboxes;
mod worker_sockets;

pub(crate) use acceptor_refs::AcceptorRefs;
pub(crate) use hubs::Hubs;
pub use relay::{QuicRelay, examine_relayed};
pub use secret::QuicSecret;
pub use settings::QuicSettings;
pub use tls::ChooseTls;
pub use tokens::QuicTokens;
pub use worker_inboxes::WorkerInboxes;
pub use worker_sockets::{QuicListenerShare, QuicWorkerSockets};
