//! `auth_request`: a subrequest says whether the visitor may come in.

use std::rc::Rc;

use myriad_log::Level;

use super::{Verdict, Waiting};
use crate::exchange::Exchange;
use crate::runtime::AuthRequest;
use crate::subrequest::{self, Subanswer};

/// Asks, where the place says whom.
pub(super) fn begin(exchange: &mut Exchange) -> Verdict {
    let site = Rc::clone(&exchange.request.site);
    let Some(rules) = rules(&site, exchange) else { return Verdict::Pass };
    match subrequest::begin(exchange, &rules.uri, b"") {
        Ok(child) => Verdict::Wait(Waiting::Subrequest(subrequest::ask(child))),
        Err(_) => Verdict::Fail(500),
    }
}

fn rules<'a>(site: &'a crate::worker::Generation, exchange: &Exchange) -> Option<&'a AuthRequest> {
    site.runtime.place(exchange.request.place).gate.as_ref()?.auth_request.as_ref()
}

/// Takes the variables that the place wants of the subrequest, then its word: 2xx lets in, 401 and 403 keep out, and
/// all else is an error.
pub(super) fn judge(exchange: &mut Exchange, mut asked: Subanswer) -> Verdict {
    let site = Rc::clone(&exchange.request.site);
    let Some(rules) = rules(&site, exchange) else { return Verdict::Fail(500) };
    for set in &rules.sets {
        let Exchange { request, frame } = exchange;
        let child = asked.exchange();
        if let Err(error) = set.carry((&child.request, &mut child.frame), (request, frame)) {
            request.log(Level::Error, format_args!("{error}"));
            return Verdict::Fail(500);
        }
    }
    if asked.answer.dropped {
        return Verdict::Fail(444);
    }
    match asked.answer.status {
        200..=299 => Verdict::Allow,
        401 => match asked.fields(b"www-authenticate") {
            values if values.is_empty() => Verdict::Refuse(401),
            values => Verdict::Challenges(values),
        },
        403 => Verdict::Refuse(403),
        status => {
            exchange.request.log(Level::Error, format_args!("auth request unexpected status: {status}"));
            Verdict::Fail(500)
        }
    }
}
