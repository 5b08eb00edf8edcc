//! `ssi`: pages whose commands put other answers into them.
//!
//! The page goes out as it comes. What it includes is asked for as soon as its command is read, several at once, and
//! put out in the order of the page. Commands are read and obeyed in `myriad-ssi`; here is what they need of the
//! server: variables, subrequests, bodies.

mod body;
mod include;
mod surroundings;

use std::rc::Rc;

use bytes::Bytes;
use myriad_encode::Coding;
use myriad_http::Method;
use myriad_http::body::{BoxBody, Empty, Full};
use myriad_net::ResponseBody;

use self::body::SsiBody;
use super::pulled;
use crate::exchange::Exchange;
use crate::output::{Answer, line_named};
use crate::runtime::SsiRules;

/// Lays the includes of the place over an answer, where it is a page that may hold commands.
pub(crate) fn apply(exchange: &mut Exchange, answer: &mut Answer) {
    let site = Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    let Some(rules) = place.filters.as_ref().and_then(|filters| filters.ssi.as_ref()) else { return };
    let coded = answer.coding != Coding::Identity || line_named(&answer.lines, b"content-encoding").is_some();
    let bodiless = matches!(answer.status, 204 | 304) || answer.status < 200;
    let empty = answer.known_length() == Some(0) || matches!(answer.body, ResponseBody::Tunnel(_));
    if coded || bodiless || empty || !rules.types.cover(answer.bare_media_type()) {
        return;
    }
    answer.detach(place.files.etag);
    if rules.last_modified {
        answer.weaken_tag();
    } else {
        answer.without(&[b"last-modified", b"etag"]);
    }
    answer.without(&[b"accept-ranges"]);
    answer.length = None;
    answer.ranges = false;
    answer.compressible = true;
    answer.postponed = true;
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    let body: BoxBody = if exchange.request.head.method() == Method::Head {
        Box::pin(Empty)
    } else {
        page(exchange, rules, pulled(body))
    };
    answer.body = ResponseBody::Stream(body, None);
}

fn page(exchange: &mut Exchange, rules: &SsiRules, body: BoxBody) -> BoxBody {
    Box::pin(SsiBody::new(exchange.companion(), rules.page, body))
}

/// The text of a block in the place of an answer: a page of its own where the place that was asked has SSI.
fn stub(asked: Box<Exchange>, text: Bytes) -> BoxBody {
    let site = Rc::clone(&asked.request.site);
    let filters = site.runtime.place(asked.request.place).filters.as_ref();
    let text = Box::pin(Full::new(text));
    match filters.and_then(|filters| filters.ssi.as_ref()) {
        Some(rules) => Box::pin(SsiBody::new(asked, rules.page, text)),
        None => text,
    }
}
