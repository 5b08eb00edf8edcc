//! Access control of `api` and other administrative pages over HTTP, and a limit of their concurrency.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};

use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use super::answer::{ApiRejection, unknown_host};
use super::scope::ApiScope;
use crate::purge::own_host;
use myriad_exchange::exchange::{ContentResponse, PhaseStep, Request};

/// Maximum number of API calls, explanations of a request (`inspect`) and metrics pages that are executed at the same
/// time, over all workers. Further ones are rejected with 503. Live events, pages with bodies and unfinished writes
/// have separate limits.
const MAX_INSPECTIONS: usize = 4;
/// Maximum number of concurrent API requests for a page with its body (`cache/page` with `body=on`). Visitors cause
/// these requests, so they have separate permits and do not delay purges.
const MAX_PAGE_BODIES: usize = 2;

/// Access rights of a client that an administrative page (`api`, `dashboard`, `metrics`) admits.
pub(crate) struct ClientRights {
    /// True if the configuration restricts the location by address, a password or `auth_request`.
    pub has_access_rules: bool,
    /// True if the client is authorized: it has sent the secret of the directive, or the location admits only clients
    /// that a password or `auth_request` has identified. The latter does not apply to subrequests, which skip these
    /// checks.
    pub is_authenticated: bool,
}

/// Admits clients that [`check_access`] admits and that send the secret of `scope`, if it has one. `directive` is named
/// in the error log. Returns the response for a rejected client as error.
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

/// Admits clients by `allow`, `deny`, a password or `auth_request` of the location. Without such rules, only clients on
/// a Unix socket, on loopback or with the address that they connected to are admitted, for requests not forwarded by a
/// proxy. Unless every admitted client has sent a password or passed `auth_request` (not with `satisfy any` and address
/// rules), the request must name a host of the server, `localhost`, a loopback address or the local address of the
/// connection, if it has a `Host`. Returns the response for a rejected client as error.
#[expect(clippy::result_large_err, reason = "the error is the response to the client")]
pub(crate) fn check_access(request: &Request, directive: &str) -> Result<ClientRights, PhaseStep> {
    // Rules of the location for addresses and passwords have already been evaluated.
    let gate = request.place().entry.gate.as_ref();
    let has_access_rules = gate.is_some_and(|gate| gate.identifies() || gate.rules_addresses());
    if !has_access_rules && let Err(why) = request.may_administer(None) {
        request.log(LogLevel::Error, format_args!("{directive} forbidden: {why}"));
        return Err(PhaseStep::Error(403));
    }
    // With a password this is not necessary: a browser does not send it to a foreign name that resolves to this server
    // (DNS rebinding).
    let identifies_all = gate.is_some_and(|gate| gate.identifies_all());
    if !identifies_all && !own_host::is_known(request) {
        return Err(unknown_host(request, directive).answer());
    }
    // Subrequests, such as those of `mirror` and `post_action`, do not pass the checks of passwords.
    let proven = !request.is_subrequest() && identifies_all;
    Ok(ClientRights { has_access_rules, is_authenticated: proven })
}

/// Returns an empty response and reports `text` as decision of an explanation (`-t --explain`, `inspect`), which must
/// not execute the request.
pub(crate) fn explained_answer(request: &Request, directive: &'static str, text: &str) -> PhaseStep {
    if let Some(sink) = &request.received.sink {
        sink.note(directive, text.to_owned(), String::new(), None);
    }
    PhaseStep::Answer(ContentResponse::new(200, ResponseBody::None))
}

/// Permit for a request of a kind whose concurrency is limited: API calls, explanations and metrics pages together;
/// pages with their bodies; unfinished writes. Dropping it allows a further request of the kind.
pub(crate) struct RequestPermit(RequestCount);

/// Number of concurrent requests of one kind.
pub(crate) type RequestCount = Arc<AtomicUsize>;

static INSPECTIONS: LazyLock<RequestCount> = LazyLock::new(RequestCount::default);
static PAGE_BODIES: LazyLock<RequestCount> = LazyLock::new(RequestCount::default);

impl RequestPermit {
    /// Returns a permit for an API call, an explanation or a metrics page; `None` if [`MAX_INSPECTIONS`] are in use.
    pub(crate) fn try_acquire() -> Option<Self> {
        Self::try_acquire_of(&INSPECTIONS, MAX_INSPECTIONS)
    }

    /// Returns a permit for a request with the body of a page; `None` if [`MAX_PAGE_BODIES`] are in use.
    pub(crate) fn try_acquire_for_body() -> Option<Self> {
        Self::try_acquire_of(&PAGE_BODIES, MAX_PAGE_BODIES)
    }

    /// Returns a permit for a request that `count` counts; `None` if `max` permits are in use.
    pub(crate) fn try_acquire_of(count: &RequestCount, max: usize) -> Option<Self> {
        let permit = Self(Arc::clone(count));
        // If the limit is exceeded, the permit is dropped at once, which decrements the count again.
        (count.fetch_add(1, SeqCst) < max).then_some(permit)
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
