//! The request that follows an answer.

use std::cell::Cell;
use std::rc::Rc;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{AfterSent, Exchange, Start};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_exchange::subrequest;
use myriad_log::Level;
use tokio::sync::Notify;

use super::directives::PostActionSettings;

/// Actions of a worker that are under way at once: what is known of their visitors' requests is held meanwhile.
pub(super) const MOST: usize = 512;

thread_local! {
    static UNDER_WAY: Cell<usize> = const { Cell::new(0) };
    /// Told when none is under way any longer.
    static OVER: Rc<Notify> = Rc::default();
}

/// Returns when none of this worker's actions is under way: a worker that quits waits for them, as for answers.
pub async fn ended() {
    let over = OVER.with(Rc::clone);
    while UNDER_WAY.get() > 0 {
        over.notified().await;
    }
}

/// `post_action` of a place: a path, or a named location with its `@`.
struct PostAction(Box<[u8]>);

/// Keeps the action of a place that has one.
pub(super) fn keep(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let target = &settings.feature::<PostActionSettings>().0;
    if !target.is_empty() {
        features.keep::<Box<dyn AfterSent>>(Box::new(PostAction(target.as_slice().into())));
    }
}

impl AfterSent for PostAction {
    fn begin(&self, exchange: &mut Exchange) -> bool {
        let Some(turn) = Turn::begin() else {
            let target = String::from_utf8_lossy(&self.0);
            exchange
                .request
                .log(Level::Warn, format_args!("no post action \"{target}\": {MOST} of them are under way"));
            return false;
        };
        let Some((mut child, start)) = self.child(exchange) else { return false };
        child.resemble(exchange, true);
        child.request.route.as_get = exchange.request.route.as_get;
        child.go_to_background();
        let following = subrequest::follow(child, start, exchange);
        tokio::task::spawn_local(async move {
            let _turn = turn;
            following.await;
        });
        true
    }
}

impl PostAction {
    /// The subrequest: by the path alone, or in the named location with the address as it is.
    fn child(&self, exchange: &mut Exchange) -> Option<(Box<Exchange>, Start)> {
        if self.0.starts_with(b"/") {
            return Some((subrequest::begin(exchange, &self.0, b"").ok()?, Start::Server));
        }
        let (uri, args) = (exchange.request.route.uri.clone(), exchange.request.route.args.clone());
        let mut child = subrequest::begin(exchange, &uri, &args).ok()?;
        child.request.route.form.changed = exchange.request.route.form.changed;
        Some((child, Start::Named(self.0.clone())))
    }
}

/// One of the actions that are under way, until it is dropped.
struct Turn;

impl Turn {
    fn begin() -> Option<Self> {
        let others = UNDER_WAY.get();
        (others < MOST).then(|| {
            UNDER_WAY.set(others + 1);
            Self
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let others = UNDER_WAY.get() - 1;
        UNDER_WAY.set(others);
        if others == 0 {
            // A thread that ends may have dropped it already; then nobody waits.
            let _ = OVER.try_with(|over| over.notify_waiters());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::task::Poll;

    use myriad_serve::testing::block_on;

    use super::{MOST, Turn, ended};

    #[test]
    fn actions_are_bounded_and_the_end_waits_for_the_last() {
        let mut turns: Vec<_> = (0..MOST).map(|_| Turn::begin()).collect();
        assert!(turns.iter().all(Option::is_some));
        assert!(Turn::begin().is_none());
        let last = turns.pop();
        drop(turns);
        block_on(async {
            let mut end = Box::pin(ended());
            let waits = poll_fn(|cx| Poll::Ready(end.as_mut().poll(cx).is_pending()));
            assert!(waits.await);
            drop(last);
            end.await;
        });
    }
}
