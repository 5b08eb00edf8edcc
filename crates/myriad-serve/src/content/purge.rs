//! `*_cache_purge ZONE KEY`: a location whose requests take a page out of the cache.

use bytes::Bytes;
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;
use myriad_store::KeyRef;

use super::{Step, cached};
use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::output::Answer;
use crate::runtime::PurgePlace;

/// Purges the key and says whether a page was there: 200, or 404. All variants and encodings go, and what is being
/// fetched at this moment is not stored.
pub(super) fn begin(exchange: &mut Exchange, rules: &PurgePlace) -> Step {
    let Exchange { request, frame } = exchange;
    // The page of HEAD is that of GET.
    request.as_get |= request.head.method() == Method::Head;
    let mut key = Vec::new();
    if let Err(error) = rules.key.eval(request, frame, &mut key) {
        request.log(Level::Error, format_args!("{error}"));
        return Step::Error(500);
    }
    if let Some(trace) = &request.trace {
        let text = format!("zone {}", rules.zone.zone.name());
        trace.note("purge", text, String::from_utf8_lossy(&key).into_owned(), None);
        return Step::Answer(Answer::new(200, ResponseBody::None));
    }
    let mut count = rules.zone.zone.remove(KeyRef::new(&key));
    // Visitors who name a port of their own have pages of their own.
    if request.head.known(Known::Host).is_some_and(|sent| !sent.eq_ignore_ascii_case(&request.host)) {
        let mut apart = key.clone();
        cached::tell_hosts_apart(request, &mut apart);
        count += rules.zone.zone.remove(KeyRef::new(&apart));
    }
    if count == 0 {
        return Step::Error(404);
    }
    let mut page =
        b"<html>\n<head><title>Successful purge</title></head>\n<body>\n<h1>Successful purge</h1>\n".to_vec();
    page.extend_from_slice(b"<p>Key: ");
    myriad_http::uri::escape(&key, myriad_http::uri::Escape::Html, &mut page);
    page.extend_from_slice(b"</p>\n</body>\n</html>\n");
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(b"text/html"[..].into());
    Step::Answer(answer)
}
