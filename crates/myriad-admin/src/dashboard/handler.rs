//! Content handler of the dashboard: the page, or the API below it.

use myriad_http::uri;
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;

use super::page;
use crate::api::{ApiHandler, ApiRejection, check_access};
use myriad_exchange::exchange::{ContentResponse, Exchange, Handler, PhaseStep, Request};

/// Content handler of `dashboard`, with the read-only API that the page uses.
#[derive(Debug)]
pub(super) struct DashboardHandler(pub(super) ApiHandler);

impl Handler for DashboardHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        let request = &exchange.request;
        let uri = &request.route.uri;
        if !matches!(request.received.head.method(), Method::Get | Method::Head) {
            return ApiRejection::method("GET, HEAD").answer();
        }
        if !matches!(uri.strip_prefix(&*self.0.prefix), Some(b"" | b"/")) {
            return self.0.begin(exchange);
        }
        if let Some(sink) = &request.received.sink {
            sink.note("dashboard", "the dashboard page".to_owned(), String::new(), None);
            return PhaseStep::Answer(ContentResponse::new(200, ResponseBody::None));
        }
        // The page itself contains no data: only the API requires the secret.
        if let Err(refused) = check_access(request, "dashboard") {
            return refused;
        }
        if uri.ends_with(b"/") { page::answer(accepted_codings(request)) } else { redirect_to_folder(uri) }
    }
}

fn accepted_codings(request: &Request) -> &[u8] {
    request.received.head.known(Known::AcceptEncoding).unwrap_or_default()
}

/// Redirects to the same path with a trailing slash, because the page uses relative URLs.
fn redirect_to_folder(uri: &[u8]) -> PhaseStep {
    let from = uri.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let mut target = b"./".to_vec();
    uri::escape(&uri[from..], uri::EscapeKind::Uri, &mut target);
    target.push(b'/');
    let mut answer = ContentResponse::new(308, ResponseBody::None);
    answer.field(b"Location", &target);
    PhaseStep::Answer(answer)
}
