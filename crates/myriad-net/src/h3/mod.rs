//! HTTP/3: QUIC connections on the datagrams of listening sockets. Each request stream is an exchange.
//!
//! ```text
//!   socket -> DatagramSocket -> owner by connection ID -+-> Endpoint (quinn) -> QuicClient -> RequestStream -> Service
//!      other worker <- WorkerInboxes, other process <- QuicRelay           |           |
//!   socket <- DatagramSocket <- datagrams, segmented by the kernel <-- streams <-- ResponseSender <- Response
//! ```
//!
//! The protocol state machines are those of `quinn-proto`. One task per listener and worker owns all of them, so that
//! no state is locked or sent between threads, except for datagrams received by the wrong thread. TLS is rustls with
//! the same settings as on TCP. Pending work (such as an upstream response) adds its stream to
//! [`stream_wakes::StreamWakes`] when it is ready; the task processes the streams in this list.
//!
//! The memory of a client is limited: streams and their windows by the settings of the listener, and unacknowledged
//! response bytes by `settings::SEND_WINDOW` per connection. Above a number of concurrent handshakes, per network and
//! in total, clients must validate their address with a Retry. Unknown connection IDs get a stateless reset. At most
//! three times the received bytes are sent to an address that is not validated (RFC 9000 section 8.1).

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
