//! The phases as whoever waits for an answer sees them: visitors' requests and subrequests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::body::BoxBody;

use super::run::{Decision, Entry, run};
use crate::explain::explain_running;
use myriad_exchange::exchange::{Answer, Engine, Exchange, Line, Pending, Question, Start};
use myriad_exchange::runtime::Runtime;

/// The phases, for subrequests.
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

/// Waits for what the phases could not give at once, and goes on until there is an answer.
pub(crate) async fn wait(exchange: &mut Exchange, mut pending: Box<dyn Pending>) -> Answer {
    // What an origin or the disk had a say in does not follow from the request alone: no short way for the next.
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
