//! Access control and concurrency limit of `api` and other administrative pages over HTTP.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use myriad_log::Level;
use myriad_net::ResponseBody;

use super::answer::{Refusal, unknown_host};
use super::scope::Scope;
use crate::purge::own_host;
use myriad_exchange::exchange::{Answer, Request, Step};

/// Maximum number of concurrent requests of all workers that inspect the site; further requests are rejected with a
/// retry message.
const MOST_AT_ONCE: usize = 4;

/// Access rights of a client.
pub(crate) struct Admitted {
    /// Set if the configuration restricts access by address or password.
    pub ruled: bool,
    /// Set if the client has sent a secret: that of the directive, or a password.
    pub proven: bool,
}

/// Admits clients that [`who_may`] admits and that send the secret. `directive` is named in the error log. The error is
/// the response for the client.
#[expect(clippy::result_large_err, reason = "the error is the response to the client")]
pub(crate) fn admit(request: &Request, directive: &str, scope: &Scope) -> Result<Admitted, Step> {
    let admitted = who_may(request, directive)?;
    if !scope.admits(request) {
        request.log(
            Level::Error,
            format_args!(
                "{directive} forbidden: the secret is missing or wrong; send \"Authorization: Bearer SECRET\""
            ),
        );
        let refusal =
            Refusal::new(403, "the secret is missing or wrong; send \"Authorization: Bearer SECRET\"");
        return Err(refusal.answer());
    }
    Ok(Admitted { proven: admitted.proven || scope.secret.is_some(), ..admitted })
}

/// Admits clients by `allow`, `deny` or a password. Without such rules only loopback and the server's addresses are
/// admitted, for requests without a proxy. Without a password, the request must name a host of the server. Used for
/// pages that the secret does not protect.
#[expect(clippy::result_large_err, reason = "the error is the response to the client")]
pub(crate) fn who_may(request: &Request, directive: &str) -> Result<Admitted, Step> {
    // Configured rules for addresses and passwords have been evaluated before.
    let gate = request.place().entry.gate.as_ref();
    let knows_who = gate.is_some_and(|gate| gate.identifies());
    let ruled = knows_who || gate.is_some_and(|gate| gate.rules_addresses());
    if !ruled && let Err(why) = request.may_administer(None) {
        request.log(Level::Error, format_args!("{directive} forbidden: {why}"));
        return Err(Step::Error(403));
    }
    // A browser sends no password to a foreign name that resolves to this server.
    if !knows_who && !own_host::is_known(request) {
        return Err(unknown_host(request, directive).answer());
    }
    // Subrequests, such as those of `mirror` and `post_action`, are not authenticated.
    let proven = !request.is_subrequest() && gate.is_some_and(|gate| gate.identifies_all());
    Ok(Admitted { ruled, proven })
}

/// Describes the request for `-t --explain`.
pub(crate) fn explained(request: &Request, directive: &'static str, text: &str) -> Step {
    if let Some(sink) = &request.received.sink {
        sink.note(directive, text.to_owned(), String::new(), None);
    }
    Step::Answer(Answer::new(200, ResponseBody::None))
}

/// Guard of an inspection in progress; dropping it decrements the count.
pub(crate) struct Turn;

static LOOKING: AtomicUsize = AtomicUsize::new(0);

impl Turn {
    /// Returns a guard; `None` if the limit is reached.
    pub(crate) fn take() -> Option<Self> {
        let turn = Self;
        // A guard above the limit is dropped at once.
        (LOOKING.fetch_add(1, SeqCst) < MOST_AT_ONCE).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, SeqCst);
    }
}
