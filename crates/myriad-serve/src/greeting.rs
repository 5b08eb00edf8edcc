//! What is asked of rules before there is a request: the certificates of a server whose names hold variables.

use std::rc::Rc;
use std::sync::Arc;

use myriad_log::Level;
use rustls::sign::CertifiedKey;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::ServerId;

/// The certificates of a server, for a client that is shaking hands; none where one of them cannot be had, and the
/// error log says why.
pub(crate) fn certificates(exchange: &mut Exchange, server: ServerId) -> Option<Vec<Arc<CertifiedKey>>> {
    let site = Rc::clone(&exchange.request.site);
    let server_of = site.runtime.server(server);
    exchange.request.route.server = server;
    exchange.request.route.place = server_of.place;
    let mut all = Vec::new();
    for pair in &server_of.named {
        let Exchange { request, frame } = exchange;
        let (mut certificate, mut key) = (Vec::new(), Vec::new());
        let evaluated = pair.certificate.eval(request, frame, &mut certificate);
        let loaded = match evaluated.and_then(|()| pair.key.eval(request, frame, &mut key)) {
            Ok(()) => pair.files.load(&certificate, &key),
            Err(error) => Err(error.to_string()),
        };
        match loaded {
            Ok(certified) => all.push(certified),
            Err(error) => {
                request.log(Level::Error, format_args!("{error} while SSL handshaking"));
                return None;
            }
        }
    }
    Some(all)
}
