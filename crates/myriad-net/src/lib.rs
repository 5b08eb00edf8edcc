//! Listeners, and drivers for HTTP/1, HTTP/2 and HTTP/3.
//!
//! Each worker is an OS thread with a current-thread runtime; a connection stays on its thread. A driver reads a
//! request head, passes it to a [`Service`] and writes the response. An immediate response ([`ServiceOutcome::Ready`])
//! with a body in memory is usually written with one system call and without a future. An idle connection owns no
//! buffers.

mod activity;
mod client_timeouts;
pub mod clock;
pub mod connection;
mod connection_limiter;
pub mod deadline;
mod h1;
mod h2;
#[cfg(feature = "http3")]
pub mod h3;
#[cfg(not(feature = "http3"))]
mod h3_absent;
mod lingering_close;
pub mod listener;
pub mod memory;
mod memory_counters;
pub mod multiplex;
mod panic_handling;
mod pressure;
mod quic_process;
mod raw_client;
pub mod request_body;
mod request_buffers;
pub mod response;
mod response_pacer;
pub mod service;
mod socket;
pub mod tcp_info;
mod test_panic;
mod timeouts;
pub mod tls;
mod transport;
#[cfg(feature = "stream")]
mod udp_socket;

pub use client_timeouts::MinRate;
pub use connection::{ClientAddress, Connection};
pub use connection_limiter::{ConnectionLimiter, ConnectionSlot, EvictedForMemory, Shortage};
pub use h1::close_tunnels;
#[cfg(feature = "http3")]
pub use h3::{ChooseTls, QuicListenerShare, QuicSecret, QuicTokens, WorkerInboxes, examine_relayed};
pub use h3::{QuicRelay, QuicSettings, QuicWorkerSockets};
#[cfg(not(feature = "http3"))]
use h3_absent as h3;
pub use listener::{Acceptor, ConnectionWorker};
pub use panic_handling::spawn_vital;
pub use quic_process::{QuicProcess, Standing, listener_id};
pub use raw_client::{PeekResult, RawClient, TlsHandshakeResult};
pub use request_body::RequestBody;
pub use response::{RateLimit, Response, ResponseBody, ResponseText, SentReport, Tunnel};
pub use service::{
    HandshakeFailure, Http2Limits, PreRoutingLimits, RawDriver, RawEnd, Service, ServiceOutcome,
};
pub use timeouts::Timeouts;
pub use tls::{ClientOffer as TlsOffer, HandshakeCallbacks, Refusal, TlsFacts};
#[cfg(feature = "stream")]
pub use udp_socket::{ReceivedDatagram, UdpSocket};
