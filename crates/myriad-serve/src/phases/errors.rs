//! Error responses: `error_page`, otherwise the built-in page.

use bytes::Bytes;
use myriad_conf::settings::ErrorPageCode;
use myriad_http::Method;
use myriad_net::ResponseBody;

use super::padding::pad;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep};
use myriad_exchange::responses::error_body::error_body;
use myriad_exchange::responses::error_pages::page_now;
use myriad_exchange::responses::redirect;
use myriad_exchange::runtime::{ErrorPage, ErrorTarget};

/// Returns the step for an error: an internal redirect to its `error_page`, a redirect of the client, or the built-in
/// page; for a subrequest whose errors have no body, the status alone.
pub(super) fn error_step(exchange: &mut Exchange, status: u16) -> PhaseStep {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    if exchange.request.received.lineage.as_ref().is_some_and(|lineage| lineage.errors_empty) {
        return PhaseStep::Answer(ContentResponse::new(status, ResponseBody::None));
    }
    let page = page_now(exchange, place, status);
    match page {
        Some(page) => {
            exchange.request.errors.pages_end = !place.errors.recursive;
            redirect_to_page(exchange, page, status)
        }
        None => built_in_page(exchange, status),
    }
}

/// Returns the step with the built-in error page for `status`, sent with that status even while a page for an earlier
/// error is being generated.
pub(super) fn built_in_page(exchange: &mut Exchange, status: u16) -> PhaseStep {
    exchange.request.errors.forced_status = None;
    PhaseStep::Answer(built_in_answer(exchange, status))
}

fn redirect_to_page(exchange: &mut Exchange, page: &ErrorPage, status: u16) -> PhaseStep {
    exchange.request.errors.status = Some(status);
    exchange.request.errors.forced_status = match page.answer {
        ErrorPageCode::Keep => Some(client_status(status)),
        ErrorPageCode::FromPage => None,
        ErrorPageCode::Fixed(code) => Some(code),
    };
    let template = match &page.target {
        ErrorTarget::Named(name) => return PhaseStep::Named(name.clone()),
        ErrorTarget::Uri(template) => template,
    };
    let mut target = Vec::new();
    let Exchange { request, frame } = exchange;
    if template.eval(request, frame, &mut target).is_err() {
        return built_in_page(exchange, 500);
    }
    if target.starts_with(b"/") {
        redirect::local_redirect(request, &target);
        // The page is requested with GET, independently of the method; HEAD remains HEAD.
        request.route.as_get |= !matches!(request.received.head.method(), Method::Get | Method::Head);
        return PhaseStep::Redirect;
    }
    request.errors.forced_status = None;
    let code = match page.answer {
        ErrorPageCode::Fixed(code @ (301 | 302 | 303 | 307 | 308)) => code,
        _ => 302,
    };
    PhaseStep::Answer(redirect::redirect(request, code, &target))
}

/// Returns the status sent to the client: 400 for nginx's internal codes 494 to 497, otherwise `status`.
fn client_status(status: u16) -> u16 {
    match status {
        494..=497 => 400,
        status => status,
    }
}

/// Returns the built-in error page for `status`; without a body if the status has no page. For 444, the connection is
/// closed without a response.
fn built_in_answer(exchange: &mut Exchange, status: u16) -> ContentResponse {
    // As in nginx, an error that occurs while an error page is generated is sent with its own status.
    exchange.request.errors.forced_status = None;
    let place = exchange.request.place();
    if status == 444 {
        let mut answer = ContentResponse::new(444, ResponseBody::None);
        answer.dropped = true;
        return answer;
    }
    let mut body = error_body(status, &place.headers.own.server_name);
    let is_page = !body.is_empty();
    if is_page {
        pad(&exchange.request, status, &mut body);
    }
    let mut answer = ContentResponse::new(client_status(status), ResponseBody::Full(Bytes::from(body)));
    answer.media_type = is_page.then(|| b"text/html"[..].into());
    answer.compressible = true;
    // As in nginx: the framing of the data after the request is uncertain, the request is too large to be read, or this
    // server has an internal error.
    answer.close = matches!(status, 400 | 408 | 413 | 414 | 494..=497 | 500 | 501 | 505);
    answer
}
