//! Who may ask, and how many at once: what `api` has in common with all that shows administrators something over HTTP.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use myriad_log::Level;
use myriad_net::ResponseBody;

use super::answer::{Refusal, unknown_host};
use super::scope::Scope;
use crate::purge::own_host;
use myriad_exchange::exchange::{Answer, Request, Step};

/// Requests that all workers together look into the site for at once; more are told to come again.
const MOST_AT_ONCE: usize = 4;

/// What was found out of who asks.
pub(crate) struct Admitted {
    /// Whether the configuration says who may come in.
    pub ruled: bool,
    /// Whether whoever asks has shown a secret: that of the directive, or a password.
    pub proven: bool,
}

/// Lets in whom [`who_may`] lets in, if the request bears the secret; `directive` is named in the error log. Else the answer is given that
/// the client gets.
#[expect(clippy::result_large_err, reason = "nothing fails: a step is the other way on")]
pub(crate) fn admit(request: &Request, directive: &str, scope: &Scope) -> Result<Admitted, Step> {
    let admitted = who_may(request, directive)?;
    if !scope.admits(request) {
        request.log(
            Level::Error,
            format_args!(
                "{directive} forbidden: the secret is missing or wrong: it stands in \"Authorization: Bearer SECRET\""
            ),
        );
        let refusal = Refusal::new(403, "the secret is missing or wrong: Authorization: Bearer SECRET");
        return Err(refusal.answer());
    }
    Ok(Admitted { proven: admitted.proven || scope.secret.is_some(), ..admitted })
}

/// Lets in whom `allow`, `deny` or a password let in, else loopback alone, if the request names a host of the server's own. For what
/// holds nothing that the secret is for.
#[expect(clippy::result_large_err, reason = "nothing fails: a step is the other way on")]
pub(crate) fn who_may(request: &Request, directive: &str) -> Result<Admitted, Step> {
    // Who is asked for an address or a name where that is written has been asked.
    let gate = request.place().entry.gate.as_ref();
    let knows_who = gate.is_some_and(|gate| gate.identifies());
    let ruled = knows_who || gate.is_some_and(|gate| gate.rules_addresses());
    if !ruled && let Err(why) = request.may_administer(None) {
        request.log(Level::Error, format_args!("{directive} forbidden: {why}"));
        return Err(Step::Error(403));
    }
    // A browser sends no password to a page that has its name lead here.
    if !knows_who && !own_host::is_known(request) {
        return Err(unknown_host(request, directive).answer());
    }
    // Nobody is asked for a password at a subrequest, as `mirror` and `post_action` make them.
    let proven = !request.is_subrequest() && gate.is_some_and(|gate| gate.identifies_all());
    Ok(Admitted { ruled, proven })
}

/// What `-t --explain` is told.
pub(crate) fn explained(request: &Request, directive: &'static str, text: &str) -> Step {
    if let Some(sink) = &request.received.sink {
        sink.note(directive, text.to_owned(), String::new(), None);
    }
    Step::Answer(Answer::new(200, ResponseBody::None))
}

/// One of those who are looking, counted until it is dropped.
pub(crate) struct Turn;

static LOOKING: AtomicUsize = AtomicUsize::new(0);

impl Turn {
    /// A turn, if there is one.
    pub(crate) fn take() -> Option<Self> {
        let turn = Self;
        // The turn that is one too many gives itself back as it is dropped.
        (LOOKING.fetch_add(1, SeqCst) < MOST_AT_ONCE).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, SeqCst);
    }
}
