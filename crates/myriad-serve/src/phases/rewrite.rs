//! Execution of the rewrite directives of a server or a location.

use bytes::Bytes;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;
use myriad_script::{Program, ProgramAction, ProgramResult};

use super::limits::script_failed;
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::responses::redirect::redirect_or_page;
use myriad_exchange::runtime::PlaceId;

/// Result of running the rewrite directives of a server or a location.
pub(crate) enum RewriteOutcome {
    /// Continue with the next phase.
    Stay,
    /// The URI has changed: select the location again.
    Again,
    /// A response, redirect or error completes the phase.
    Step(PhaseStep),
}

/// Runs the rewrite directives of the server; returns `None` to continue with the selection of the location, otherwise
/// the step that completes the request's phases.
pub(crate) fn server(exchange: &mut Exchange) -> Option<PhaseStep> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let server = site.runtime.server(exchange.request.route.server);
    exchange.request.route.place = server.place;
    match program(exchange, &server.rewrite, &server.ifs) {
        RewriteOutcome::Stay | RewriteOutcome::Again => None,
        RewriteOutcome::Step(step) => Some(step),
    }
}

/// Runs the rewrite directives of the current location.
pub(crate) fn location(exchange: &mut Exchange) -> RewriteOutcome {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    program(exchange, &place.rewrite.program, &place.rewrite.ifs)
}

fn program(exchange: &mut Exchange, program: &Program, ifs: &[PlaceId]) -> RewriteOutcome {
    if program.is_empty() {
        return RewriteOutcome::Stay;
    }
    let Exchange { request, frame } = exchange;
    let rewrites = request.route.form.rewrites;
    let flow = match program.run(request, frame) {
        Ok(flow) => flow,
        Err(error) => return RewriteOutcome::Step(script_failed(exchange, &error)),
    };
    if let Some(place) = flow.matched_if.and_then(|id| ifs.get(id.0 as usize)) {
        exchange.request.route.place = *place;
    }
    let rewritten = exchange.request.route.form.rewrites != rewrites;
    // A rewritten request may enter a location that is `internal`.
    exchange.request.route.internal |= rewritten;
    exchange.request.route.form.off_location |= rewritten && matches!(flow.action, ProgramAction::Break);
    apply_flow(exchange, &flow)
}

fn apply_flow(exchange: &mut Exchange, flow: &ProgramResult) -> RewriteOutcome {
    match flow.action {
        ProgramAction::Continue | ProgramAction::Break => RewriteOutcome::Stay,
        ProgramAction::UriChanged => RewriteOutcome::Again,
        ProgramAction::Redirect { status } => {
            let url = exchange.frame.output().to_vec();
            RewriteOutcome::Step(redirect_or_page(exchange, status, &url))
        }
        ProgramAction::Return { status, text: true } => {
            let text = exchange.frame.output().to_vec();
            RewriteOutcome::Step(text_answer(exchange, status, text))
        }
        ProgramAction::Return { status: 444, .. } => {
            let mut answer = ContentResponse::new(444, ResponseBody::None);
            answer.dropped = true;
            RewriteOutcome::Step(PhaseStep::Answer(answer))
        }
        ProgramAction::Return { status: status @ (204 | 304), .. } => {
            RewriteOutcome::Step(PhaseStep::Answer(ContentResponse::new(status, ResponseBody::None)))
        }
        ProgramAction::Return { status: status @ (..301 | 304..=306), .. } => {
            RewriteOutcome::Step(text_answer(exchange, status, Vec::new()))
        }
        ProgramAction::Return { status, .. } => RewriteOutcome::Step(PhaseStep::Error(status)),
    }
}

/// Returns the response of `return code text`, with the location's media type, as in nginx. Returns an error if the
/// client sent an invalid body.
fn text_answer(exchange: &Exchange, status: u16, text: Vec<u8>) -> PhaseStep {
    if let Err(error) = exchange.request.upload.body.discard_received() {
        exchange.request.log(LogLevel::Info, format_args!("client sent invalid body ({error})"));
        return PhaseStep::Error(error.status());
    }
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::from(text)));
    answer.compressible = true;
    if !matches!(status, 204 | 304) {
        let request = &exchange.request;
        answer.media_type = Some(myriad_exchange::exchange::media_type_of(request, &request.route.uri));
    }
    PhaseStep::Answer(answer)
}
