//! Subrequest that is started after a response.

use std::rc::Rc;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{AfterSent, Exchange, SubrequestStart};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_exchange::subrequest;
use myriad_log::LogLevel;

use super::directives::PostActionSettings;
use crate::background_requests::{BackgroundRequests, MAX_CONCURRENT};

thread_local! {
    /// Counter of the post actions of this worker.
    static ACTIONS: Rc<BackgroundRequests> = Rc::default();
}

/// Waits until no post action of this worker is in progress. A graceful shutdown calls this.
pub async fn wait_until_idle() {
    ACTIONS.with(Rc::clone).wait_until_idle().await;
}

/// Compiled `post_action` of a location: a path, or a named location with its `@`.
struct PostAction(Box<[u8]>);

/// Stores the `post_action` of a location, if it has one.
pub(super) fn compile_action(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let target = &settings.feature::<PostActionSettings>().0;
    if !target.is_empty() {
        features.insert::<Box<dyn AfterSent>>(Box::new(PostAction(target.as_slice().into())));
    }
}

impl AfterSent for PostAction {
    fn begin(&self, exchange: &mut Exchange) -> bool {
        let Some(turn) = ACTIONS.with(BackgroundRequests::begin) else {
            let target = String::from_utf8_lossy(&self.0);
            exchange.request.log(
                LogLevel::Warn,
                format_args!("post action \"{target}\" skipped: {MAX_CONCURRENT} post actions are in flight"),
            );
            return false;
        };
        let Some((mut child, start)) = self.child(exchange) else { return false };
        child.copy_client_request(exchange, true);
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
    /// Creates the subrequest of the post action and its start: for a path, without arguments; for a named location,
    /// with the current URI and arguments. `None` if the subrequest cannot be created.
    fn child(&self, exchange: &mut Exchange) -> Option<(Box<Exchange>, SubrequestStart)> {
        if self.0.starts_with(b"/") {
            return Some((subrequest::begin(exchange, &self.0, b"").ok()?, SubrequestStart::Server));
        }
        let (uri, args) = (exchange.request.route.uri.clone(), exchange.request.route.args.clone());
        let mut child = subrequest::begin(exchange, &uri, &args).ok()?;
        child.request.route.form.changed = exchange.request.route.form.changed;
        Some((child, SubrequestStart::Named(self.0.clone())))
    }
}
