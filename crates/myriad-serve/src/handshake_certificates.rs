//! Certificates whose file names contain variables: the names are evaluated during the handshake, before a request.

use std::rc::Rc;
use std::sync::Arc;

use myriad_log::LogLevel;
use rustls::sign::CertifiedKey;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::{NamedPair, ServerId};

/// Loads the certificates of `server` for a handshake, and selects the server for the exchange; `None` if one of them
/// cannot be loaded, which is logged.
pub(crate) fn certificates(exchange: &mut Exchange, server: ServerId) -> Option<Vec<Arc<CertifiedKey>>> {
    let site = Rc::clone(&exchange.request.site);
    let server_of = site.runtime.server(server);
    exchange.request.route.server = server;
    exchange.request.route.place = server_of.place;
    let Exchange { request, frame } = exchange;
    match NamedPair::load_all(&server_of.named, request, frame) {
        Ok(all) => Some(all),
        Err(error) => {
            request.log(LogLevel::Error, format_args!("{error} while SSL handshaking"));
            None
        }
    }
}
