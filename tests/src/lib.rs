//! Harness of the system tests: servers, origins and clients are real processes and sockets.
//!
//! A test creates a [`Place`] (a folder and a port), writes files into it, starts [`Server`] with a configuration, and
//! exchanges HTTP/1.1 bytes with it through [`Client`]. The origin is, for example, php-fpm ([`Php`]), a WordPress
//! ([`WordPress`]) or a scriptable origin ([`Origin`]). All of them are shut down on drop.

#![forbid(unsafe_code)]

mod acceptor;
mod answer;
mod apache;
mod binary;
mod cached;
mod challenge;
pub mod chromium;
mod client;
mod client_fields;
mod concurrent_clients;
mod curl;
mod fastcgi;
pub mod frames;
pub mod golden;
mod http_origin;
mod kill;
mod name_server;
mod ocsp;
mod origin;
mod own_address;
mod pebble;
mod php;
mod place;
mod process;
mod quic;
mod raw_origin;
mod request;
mod server;
mod tls;
mod transport;
mod visitor;
mod wait;
mod wordpress;

pub use answer::Answer;
pub use apache::Apache;
pub use binary::{binary, tool, workspace};
pub use cached::Cached;
pub use challenge::{challenge_of, solve_challenge};
pub use client::Client;
pub use client_fields::CLIENT_FIELDS;
pub use concurrent_clients::{Load, all_at_once};
pub use http_origin::{HttpCall, HttpOrigin};
pub use kill::{kill_rounds, noise};
pub use name_server::NameServer;
pub use ocsp::OcspResponder;
pub use origin::{Call, Origin};
pub use own_address::own_address;
pub use pebble::{EXTERNAL_KEY, Pebble, PebbleOptions};
pub use php::Php;
pub use place::Place;
pub use process::{Signal, children_of, is_alive, signal};
pub use quic::{BareQuic, Network, QuicClient, QuicVisitor};
pub use raw_origin::{Wire, WireCall};
pub use request::Request;
pub use server::Server;
pub use tls::tls_handshake;
pub use transport::{Reached, Transport, certificate};
pub use visitor::Visitor;
pub use wait::{Gate, PATIENCE, wait_for, wait_for_progress, wait_patiently_for};
pub use wordpress::WordPress;
