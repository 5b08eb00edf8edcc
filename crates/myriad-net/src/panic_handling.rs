//! Handling of panics in connections and in vital tasks. A panic in any other task terminates only that task.
//!
//! By default the runtime catches a panic in a task silently: a listener would stop accepting or deadlines would stop
//! expiring, while the process appears healthy. Therefore a panic in a vital task of a worker is reported to the
//! service, which ends the process, and its supervisor starts another. A panic in a connection's task closes that
//! connection. Both are logged.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use tokio::task::JoinHandle;

use crate::service::Service;

/// Runs a future to completion. Returns the panic message if the future panics.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic_message(&*panic))),
    })
    .await
}

/// Calls `work`. Returns the panic message if `work` panics.
#[cfg(feature = "http3")]
pub(crate) fn catch_panic_in<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_message(&*panic))
}

/// Spawns a vital task of the worker. `task` is its name in the log. A panic in it is reported to
/// [`Service::task_lost`].
pub fn spawn_vital<S: Service>(
    service: &Rc<S>,
    task: &'static str,
    future: impl Future<Output = ()> + 'static,
) -> JoinHandle<()> {
    let service = Rc::clone(service);
    tokio::task::spawn_local(async move {
        if let Err(words) = catch_panic(future).await {
            service.task_lost(task, &words);
        }
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_given_with_its_words_and_an_end_as_it_is() {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let mut poll = |future: std::pin::Pin<&mut dyn Future<Output = Result<u8, String>>>| match future
            .poll(&mut cx)
        {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Err("pending".to_owned()),
        };
        assert_eq!(poll(pin!(catch_panic(async { 7 }))), Ok(7));
        let number = 3;
        assert_eq!(poll(pin!(catch_panic(async { panic!("number {number}") }))), Err("number 3".to_owned()));
        assert_eq!(catch_panic_in(|| -> u8 { panic!("plain") }), Err("plain".to_owned()));
    }
}
