//! Interface of the phases for code that waits for a response: client requests and subrequests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::body::BoxBody;

use super::run::{Decision, Entry, run};
use crate::explain::explain_running;
use myriad_exchange::exchange::{Answer, Engine, Exchange, Line, Pending, Question, Start};
use myriad_exchange::runtime::Runtime;

/// Engine that runs the phases for subrequests.
pub(crate) struct Phases;

impl Engine for Phases {
    fn answer<'a>(
        &'static self,
        exchange: &'a mut Exchange,
        start: Start,
    ) -> Pin<Box<dyn Future<Output = Answer> + 'a>> {
        Box::pin(async move {
            let entry = match start {
                Start::Server => Entry::Server,
                Start::Place => Entry::Content,
                Start::Named(name) => Entry::Named(name),
            };
            match run(exchange, entry) {
                Decision::Ready(answer) => answer,
                Decision::Wait(pending) => wait(exchange, pending).await,
            }
        })
    }

    fn body(&self, exchange: &mut Exchange, answer: Answer) -> BoxBody {
        myriad_output::body_of_subrequest(exchange, answer)
    }

    fn explain(&'static self, runtime: &Arc<Runtime>, question: &Question) -> Result<Vec<Line>, String> {
        explain_running(self, runtime, question)
    }

    fn explain_subrequest(&'static self, exchange: &mut Exchange) -> Option<Answer> {
        match run(exchange, Entry::Server) {
            Decision::Ready(answer) => Some(answer),
            Decision::Wait(pending) => {
                pending.explain(exchange);
                None
            }
        }
    }
}

/// Waits for an operation of the phases, and continues until a response is available.
pub(crate) async fn wait(exchange: &mut Exchange, mut pending: Box<dyn Pending>) -> Answer {
    // The result depends on an origin or the disk, not only on the request, so it is not stored for the shortcut.
    exchange.request.shortcut.strayed.set(true);
    exchange.request.outcome.waited = true;
    loop {
        let step = pending.wait(exchange).await;
        match run(exchange, Entry::Step(step)) {
            Decision::Ready(answer) => return answer,
            Decision::Wait(next) => pending = next,
        }
    }
}
