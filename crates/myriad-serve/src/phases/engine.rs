//! [`Engine`] of the site: runs the phases for subrequests and waits for their results.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::body::BoxBody;

use super::run::{PhaseDecision, PhaseEntry, run};
use crate::explain::explain_running;
use myriad_exchange::exchange::{
    ContentResponse, Engine, Exchange, ExplainedDecision, ExplainedRequest, PendingStep, SubrequestStart,
};
use myriad_exchange::runtime::Runtime;

/// [`Engine`] that runs the processing phases for subrequests.
pub(crate) struct Phases;

impl Engine for Phases {
    fn answer<'a>(
        &'static self,
        exchange: &'a mut Exchange,
        start: SubrequestStart,
    ) -> Pin<Box<dyn Future<Output = ContentResponse> + 'a>> {
        Box::pin(async move {
            let entry = match start {
                SubrequestStart::Server => PhaseEntry::Server,
                SubrequestStart::Place => PhaseEntry::Content,
                SubrequestStart::Named(name) => PhaseEntry::Named(name),
            };
            match run(exchange, entry) {
                PhaseDecision::Ready(answer) => answer,
                PhaseDecision::Wait(pending) => wait(exchange, pending).await,
            }
        })
    }

    fn body(&self, exchange: &mut Exchange, answer: ContentResponse) -> BoxBody {
        myriad_output::body_of_subrequest(exchange, answer)
    }

    fn explain(
        &'static self,
        runtime: &Arc<Runtime>,
        question: &ExplainedRequest,
    ) -> Result<Vec<ExplainedDecision>, String> {
        explain_running(self, runtime, question)
    }

    fn explain_subrequest(&'static self, exchange: &mut Exchange) -> Option<ContentResponse> {
        match run(exchange, PhaseEntry::Server) {
            PhaseDecision::Ready(answer) => Some(answer),
            PhaseDecision::Wait(pending) => {
                pending.explain(exchange);
                None
            }
        }
    }
}

/// Waits for a pending step and continues the phases with its result, until they produce a response.
pub(crate) async fn wait(exchange: &mut Exchange, mut pending: Box<dyn PendingStep>) -> ContentResponse {
    // The result may depend on more than the request (an origin, the disk), so it is not stored for the shortcut.
    exchange.request.shortcut.depends_on_more.set(true);
    exchange.request.outcome.waited = true;
    loop {
        let step = pending.wait(exchange).await;
        match run(exchange, PhaseEntry::Step(step)) {
            PhaseDecision::Ready(answer) => return answer,
            PhaseDecision::Wait(next) => pending = next,
        }
    }
}
