//! HTTP/3: QUIC connections over the datagrams of a listening socket, each of their streams an exchange.
//!
//! ```text
//!   socket -> DatagramSocket -> route by connection ID -+-> Endpoint (quinn-proto) -> Client -> RequestStream -> Service
//!        other worker <-Crossing, other process <-Relay-+                      |           |
//!   socket <- DatagramSocket <---------------------- datagrams, cut by the kernel <-- streams <-- Sending <- Response
//! ```
//!
//! The protocol state machines are quinn's, without its runtime: one task per listener and worker owns them all, so nothing is
//! locked or sent between threads but datagrams that came to the wrong one. TLS is rustls, by the same settings as on TCP.
//! What is waited for (an origin, a slow body) puts a wake into [`stream_wakes::StreamWakes`]; the task looks at the streams that it names.
//!
//! What a client can make this hold is bounded: streams and their windows by the listener's settings, unsent answers by
//! `settings::SEND_WINDOW` a connection, handshakes under way by address and in all (beyond that, clients have to show by a
//! Retry that they can be reached), unknown connection IDs by stateless resets. An address that has not been validated gets at
//! most three times what it sent (RFC 9000 section 8.1).

mod address_proof;
mod cid;
mod client;
mod crossing;
mod datagram_socket;
mod handshakes;
mod hub;
mod moved;
mod place;
mod relay;
mod request;
mod secret;
mod sending;
mod settings;
mod stream_wakes;
mod timers;
mod tls;
mod tokens;
mod users;

pub use crossing::Crossing;
pub(crate) use hub::Hub;
pub use place::{QuicPlace, QuicShare};
pub use relay::{QuicProcess, Relay, Standing, examine_relayed, listener_id};
pub use secret::QuicSecret;
pub use settings::QuicSettings;
pub use tls::{ChooseTls, Refusal};
pub use tokens::QuicTokens;
pub(crate) use users::{Users, WeakUsers};
