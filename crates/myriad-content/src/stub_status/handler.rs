//! Directive `stub_status`, and its content handler.

use bytes::Bytes;
use myriad_conf::registry::{Contexts, Directive, Set, between};
use myriad_net::ResponseBody;

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, GET_HEAD, Handler};
use myriad_exchange::feature::{PlannedHandler, plan_handler};
use myriad_exchange::runtime::SettingsCompiler;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "stub_status",
    Contexts::SERVER.or(Contexts::LOCATION),
    // Older versions of nginx required an argument; it is ignored.
    between(0, 1),
    Set::Settings(|settings, _| {
        settings.handler = Some(plan_handler(StubStatus));
        Ok(())
    }),
    "Serves counts of connections and requests.",
)
.repeats()];

/// Content handler of `stub_status`, which returns counters of connections and requests.
#[derive(Debug)]
struct StubStatus;

impl PlannedHandler for StubStatus {
    fn make(&self, _: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(Self))
    }
}

impl Handler for StubStatus {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        begin(exchange)
    }
}

/// Returns the page with the connections and requests of all workers.
fn begin(exchange: &mut Exchange) -> PhaseStep {
    if !GET_HEAD.contains(exchange.request.received.head.method()) {
        return PhaseStep::method_not_allowed(&mut exchange.request, GET_HEAD);
    }
    let now = exchange.request.site.worker.total();
    let (accepted, requests) = (now.accepted, now.begun);
    let (active, reading, writing, waiting) = (now.active(), now.reading, now.writing(), now.waiting());
    let text = format!(
        "Active connections: {active} \n\
         server accepts handled requests\n \
         {accepted} {accepted} {requests} \n\
         Reading: {reading} Writing: {writing} Waiting: {waiting} \n"
    );
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(b"text/plain"[..].into());
    PhaseStep::Answer(answer)
}
