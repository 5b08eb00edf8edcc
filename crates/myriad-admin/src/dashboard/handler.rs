//! Request handler of the dashboard: the page, or the API below it.

use myriad_http::uri;
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;

use super::page;
use crate::api::{ApiHandler, Refusal, who_may};
use myriad_exchange::exchange::{Answer, Exchange, Handler, Request, Step};

/// `dashboard`: read-only API for the page.
#[derive(Debug)]
pub(super) struct DashboardHandler(pub(super) ApiHandler);

impl Handler for DashboardHandler {
    fn begin(&self, exchange: &mut Exchange) -> Step {
        let request = &exchange.request;
        let uri = &request.route.uri;
        if !matches!(request.received.head.method(), Method::Get | Method::Head) {
            return Refusal::method("GET, HEAD").answer();
        }
        if !matches!(uri.strip_prefix(&*self.0.prefix), Some(b"" | b"/")) {
            return self.0.begin(exchange);
        }
        if let Some(sink) = &request.received.sink {
            sink.note("dashboard", "the dashboard page".to_owned(), String::new(), None);
            return Step::Answer(Answer::new(200, ResponseBody::None));
        }
        // The page itself contains no figures: the secret is only required by the API.
        if let Err(refused) = who_may(request, "dashboard") {
            return refused;
        }
        if uri.ends_with(b"/") { page::answer(accepted(request)) } else { to_folder(uri) }
    }
}

fn accepted(request: &Request) -> &[u8] {
    request.received.head.known(Known::AcceptEncoding).unwrap_or_default()
}

/// Redirects to the same path with a trailing slash, because the page uses relative URLs.
fn to_folder(uri: &[u8]) -> Step {
    let from = uri.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let mut target = b"./".to_vec();
    uri::escape(&uri[from..], uri::Escape::Uri, &mut target);
    target.push(b'/');
    let mut answer = Answer::new(308, ResponseBody::None);
    answer.field(b"Location", &target);
    Step::Answer(answer)
}
