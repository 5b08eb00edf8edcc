//! The harness of the whole-system tests: servers, origins and clients that are real processes and sockets.
//!
//! A test makes a [`Place`] (a folder and a port of its own), writes files into it, starts [`Server`] on a configuration,
//! and speaks HTTP/1.1 to it as bytes through [`Client`]. Behind the server stand php-fpm ([`Php`]), a WordPress
//! ([`WordPress`]) or an origin that does whatever a test wants of it ([`Origin`]). Everything ends when it is dropped.

#![forbid(unsafe_code)]

mod acceptor;
mod answer;
mod apache;
mod binary;
mod cached;
pub mod chromium;
mod client;
mod client_fields;
mod crowd;
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
mod request;
mod server;
mod tls;
mod transport;
mod visitor;
mod wait;
mod wire;
mod wordpress;

pub use answer::Answer;
pub use apache::Apache;
pub use binary::{binary, tool, workspace};
pub use cached::Cached;
pub use client::Client;
pub use client_fields::CLIENT_FIELDS;
pub use crowd::{Load, all_at_once};
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
pub use request::Request;
pub use server::Server;
pub use tls::tls_handshake;
pub use transport::{Reached, Transport, certificate};
pub use visitor::Visitor;
pub use wait::{Gate, PATIENCE, wait_for, wait_patiently_for};
pub use wire::{Wire, WireCall};
pub use wordpress::WordPress;
