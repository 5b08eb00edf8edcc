//! Access control and concurrency limit of `api` and other administrative pages over HTTP.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use super::answer::{ApiRejection, unknown_host};
use super::scope::ApiScope;
use crate::purge::own_host;
use myriad_exchange::exchange::{ContentResponse, PhaseStep, Request};

/// Maximum number of concurrent requests of all workers that inspect the site; further requests are rejected with a
/// retry message.
const MAX_INSPECTIONS: usize = 4;

/// Access rights of a client.
pub(crate) struct ClientRights {
    /// Set if the configuration restricts access by address or password.
    pub has_access_rules: bool,
    /// Set if the client has sent a secret: that of the directive, or a password.
    pub is_authenticated: bool,
}

/// Admits clients that [`check_access`] admits and that send the secret. `directive` is named in the error log. The error is
/// the response for the client.
#[expect(clippy::result_large_err, reason = "the error is the response to the client")]
pub(crate) fn admit(request: &Request, directive: &str, scope: &ApiScope) -> Result<ClientRights, PhaseStep> {
    let admitted = check_access(request, directive)?;
    if !scope.admits(request) {
        request.log(
            LogLevel::Error,
            format_args!(
                "{directive} forbidden: the secret is missing or wrong; send \"Authorization: Bearer SECRET\""
            ),
        );
        let refusal =
            ApiRejection::new(403, "the secret is missing or wrong; send \"Authorization: Bearer SECRET\"");
        return Err(refusal.answer());
    }
    Ok(ClientRights { is_authenticated: admitted.is_authenticated || scope.secret.is_some(), ..admitted })
}

/// Admits clients by `allow`, `deny` or a password. Without such rules only loopback and the server's addresses are
/// admitted, for requests without a proxy. Without a password, the request must name a host of the server. Used for
/// pages that the secret does not protect.
#[expect(clippy::result_large_err, reason = "the error is the response to the client")]
pub(crate) fn check_access(request: &Request, directive: &str) -> Result<ClientRights, PhaseStep> {
    // Configured rules for addresses and passwords have been evaluated before.
    let gate = request.place().entry.gate.as_ref();
    let identifies_clients = gate.is_some_and(|gate| gate.identifies());
    let has_access_rules = identifies_clients || gate.is_some_and(|gate| gate.rules_addresses());
    if !has_access_rules && let Err(why) = request.may_administer(None) {
        request.log(LogLevel::Error, format_args!("{directive} forbidden: {why}"));
        return Err(PhaseStep::Error(403));
    }
    // A browser sends no password to a foreign name that resolves to this server.
    if !identifies_clients && !own_host::is_known(request) {
        return Err(unknown_host(request, directive).answer());
    }
    // Subrequests, such as those of `mirror` and `post_action`, are not authenticated.
    let proven = !request.is_subrequest() && gate.is_some_and(|gate| gate.identifies_all());
    Ok(ClientRights { has_access_rules, is_authenticated: proven })
}

/// Describes the request for `-t --explain`.
pub(crate) fn explained_answer(request: &Request, directive: &'static str, text: &str) -> PhaseStep {
    if let Some(sink) = &request.received.sink {
        sink.note(directive, text.to_owned(), String::new(), None);
    }
    PhaseStep::Answer(ContentResponse::new(200, ResponseBody::None))
}

/// Guard of an inspection in progress; dropping it decrements the count.
pub(crate) struct InspectionPermit;

static INSPECTIONS: AtomicUsize = AtomicUsize::new(0);

impl InspectionPermit {
    /// Returns a guard; `None` if the limit is reached.
    pub(crate) fn try_acquire() -> Option<Self> {
        let turn = Self;
        // A guard above the limit is dropped at once.
        (INSPECTIONS.fetch_add(1, SeqCst) < MAX_INSPECTIONS).then_some(turn)
    }
}

impl Drop for InspectionPermit {
    fn drop(&mut self) {
        INSPECTIONS.fetch_sub(1, SeqCst);
    }
}
