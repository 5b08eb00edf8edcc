//! Execution of the rewrite directives of a server or a location.

use bytes::Bytes;
use myriad_log::Level;
use myriad_net::ResponseBody;
use myriad_script::{Action, Flow, Program};

use super::limits::failed;
use myriad_exchange::answers::redirect::redirect_or_page;
use myriad_exchange::exchange::Answer;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::Step;
use myriad_exchange::runtime::PlaceId;

/// Result of a location's rewrite directives.
pub(crate) enum Rewritten {
    /// Continue in this place.
    Stay,
    /// The URI has changed: look up the location again.
    Again,
    /// Response or error.
    Step(Step),
}

/// Runs the directives of the server; returns `None` to continue.
pub(crate) fn server(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let server = site.runtime.server(exchange.request.route.server);
    exchange.request.route.place = server.place;
    match program(exchange, &server.rewrite, &server.ifs) {
        Rewritten::Stay | Rewritten::Again => None,
        Rewritten::Step(step) => Some(step),
    }
}

/// Runs the directives of the current place.
pub(crate) fn location(exchange: &mut Exchange) -> Rewritten {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    program(exchange, &place.rewrite.program, &place.rewrite.ifs)
}

fn program(exchange: &mut Exchange, program: &Program, ifs: &[PlaceId]) -> Rewritten {
    if program.is_empty() {
        return Rewritten::Stay;
    }
    let Exchange { request, frame } = exchange;
    let rewrites = request.route.form.rewrites;
    let flow = match program.run(request, frame) {
        Ok(flow) => flow,
        Err(error) => return Rewritten::Step(failed(exchange, &error)),
    };
    if let Some(place) = flow.matched_if.and_then(|id| ifs.get(id.0 as usize)) {
        exchange.request.route.place = *place;
    }
    let rewritten = exchange.request.route.form.rewrites != rewrites;
    // A rewritten request may enter an internal location.
    exchange.request.route.internal |= rewritten;
    exchange.request.route.form.off_location |= rewritten && matches!(flow.action, Action::Break);
    act(exchange, &flow)
}

fn act(exchange: &mut Exchange, flow: &Flow) -> Rewritten {
    match flow.action {
        Action::Continue | Action::Break => Rewritten::Stay,
        Action::UriChanged => Rewritten::Again,
        Action::Redirect { status } => {
            let url = exchange.frame.output().to_vec();
            Rewritten::Step(redirect_or_page(exchange, status, &url))
        }
        Action::Return { status, text: true } => {
            let text = exchange.frame.output().to_vec();
            Rewritten::Step(text_answer(exchange, status, text))
        }
        Action::Return { status: 444, .. } => {
            let mut answer = Answer::new(444, ResponseBody::None);
            answer.dropped = true;
            Rewritten::Step(Step::Answer(answer))
        }
        Action::Return { status: status @ (204 | 304), .. } => {
            Rewritten::Step(Step::Answer(Answer::new(status, ResponseBody::None)))
        }
        Action::Return { status: status @ (..301 | 304..=306), .. } => {
            Rewritten::Step(text_answer(exchange, status, Vec::new()))
        }
        Action::Return { status, .. } => Rewritten::Step(Step::Error(status)),
    }
}

/// Returns the response of `return code text`, with the location's media type, as in nginx.
fn text_answer(exchange: &Exchange, status: u16, text: Vec<u8>) -> Step {
    if let Err(error) = exchange.request.upload.body.discard_at_hand() {
        exchange.request.log(Level::Info, format_args!("client sent invalid body ({error})"));
        return Step::Error(error.status());
    }
    let mut answer = Answer::new(status, ResponseBody::Full(Bytes::from(text)));
    answer.compressible = true;
    if !matches!(status, 204 | 304) {
        let request = &exchange.request;
        answer.media_type = Some(myriad_exchange::exchange::media_type_of(request, &request.route.uri));
    }
    Step::Answer(answer)
}
