//! Traits that features implement: handlers, access checks, waits, and changes of header fields.

use std::any::Any;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::body::BoxBody;
use myriad_http::{Method, MethodSet};
use myriad_net::ResponseText;
use myriad_script::Frame;

use super::{ContentResponse, Exchange, ExplainedDecision, ExplainedRequest, Request};
use crate::runtime::Runtime;

/// Result of a processing phase or a content handler: how the request continues.
pub enum PhaseStep {
    /// The step has produced this response.
    Answer(ContentResponse),
    /// The request must wait for an asynchronous operation, which returns the next step.
    Wait(Box<dyn PendingStep>),
    /// The client is admitted: continue with the content handler of the location.
    Enter,
    /// The URI has been changed for an internal redirect: continue with the search for a location.
    Redirect,
    /// Continue in the named location (`@name`).
    Named(Box<[u8]>),
    /// The request fails with this status, which an `error_page` or the built-in page answers.
    Error(u16),
}

impl PhaseStep {
    /// Creates a [`PhaseStep::Wait`] from an asynchronous closure, which returns the next step and owns the state that
    /// it needs.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }

    /// Returns the error 405 for a method that is not allowed here. `supported` are the methods for the field `Allow`.
    pub fn method_not_allowed(request: &mut Request, supported: MethodSet) -> Self {
        request.errors.supported = supported;
        Self::Error(405)
    }
}

/// GET and HEAD, the methods that read-only handlers support.
pub const GET_HEAD: MethodSet = MethodSet::of(&[Method::Get, Method::Head]);

/// Future of the next step or of a check's verdict. It is not `Send`: an exchange remains on its worker thread.
pub type StepFuture<'a, T = PhaseStep> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Operation that a request must wait for, such as reading a file, a request to an origin, or a fetch by another
/// request.
///
/// It owns the results computed before the wait, so that they need not be computed again. Dropping it without waiting
/// abandons the operation.
pub trait PendingStep<T = PhaseStep> {
    /// Waits for the operation and returns how the request continues.
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_, T>;

    /// Reports the operation to the sink of the request. Called instead of [`Self::wait`] for a request that is only
    /// being explained.
    fn explain(&self, _: &mut Exchange) {}
}

impl<T, F: AsyncFnOnce(&mut Exchange) -> T + 'static> PendingStep<T> for F {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_, T> {
        // Allocating first allows the future, some kilobytes long, to be constructed in place.
        let room = Box::new_uninit();
        let future = Box::write(room, (*self)(exchange));
        Box::into_pin(future)
    }
}

/// Content handler of a location.
pub trait Handler: Send + Sync {
    /// Starts to produce the response. Must not block: operations that take time return [`PhaseStep::Wait`].
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep;

    /// Returns the response to a request whose location and cache key are known from an earlier, similar request, if it
    /// is available at once: a fresh page or a file in memory. If `None`, the request is processed in full.
    fn shortcut(&self, _: &mut Exchange) -> Option<PhaseStep> {
        None
    }

    /// Returns true if requests to this handler may reuse an earlier request's routing.
    fn allows_shortcut(&self) -> bool {
        false
    }

    /// Returns the handler's compiled settings, for code that knows their type; `None` for a handler that provides
    /// none.
    fn compiled(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns the handler's compiled settings mutably, while the configuration is being compiled; `None` for a handler
    /// that provides none.
    fn compiled_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// Access checks of a location, which run before its content handler. A location without checks has no gate.
pub struct AccessGate {
    /// Checks of the location, in order of execution.
    pub checks: Vec<Box<dyn Check>>,
    /// `satisfy any`: one check that admits the client suffices.
    pub any: bool,
    /// `auth_delay`: delay of a response with status 401, in milliseconds.
    pub delay_ms: u64,
}

impl AccessGate {
    /// Returns true if at least one check of the location admits only identified users; see [`Check::identifies`].
    pub fn identifies(&self) -> bool {
        self.checks.iter().any(|check| check.identifies())
    }

    /// Returns true if every admitted client has been identified as a user. False if no check identifies users, and
    /// with `satisfy any` if a check decides by client address.
    pub fn identifies_all(&self) -> bool {
        self.identifies() && !(self.any && self.rules_addresses())
    }

    /// Returns true if at least one check of the location decides by client address; see [`Check::rules_addresses`].
    pub fn rules_addresses(&self) -> bool {
        self.checks.iter().any(|check| check.rules_addresses())
    }
}

/// Access check of a location: by user, by address, by rate, or by number of connections.
pub trait Check: Send + Sync {
    /// Returns the name of the directive that configures the check, for explanations of requests.
    fn name(&self) -> &'static str;

    /// Checks a request and returns the verdict. Must not block: operations that take time return
    /// [`CheckVerdict::Wait`].
    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict;

    /// Returns a description of the check for a request that is only being explained (an empty description is not
    /// shown), and the verdict with which that request continues. Must have no effect: it counts nothing and contacts
    /// no other server.
    fn explain(&self, request: &Request) -> (String, CheckVerdict);

    /// Returns true if the check also runs for subrequests, not only for the client's request.
    fn judges_subrequests(&self) -> bool {
        false
    }

    /// Returns true if the check only observes admitted clients; such a check runs after all checks that decide.
    fn observes_admitted(&self) -> bool {
        false
    }

    /// Returns true if the check admits only identified users.
    fn identifies(&self) -> bool {
        false
    }

    /// Returns true if the check decides by client address.
    fn rules_addresses(&self) -> bool {
        false
    }
}

/// Changes that a location makes to the header fields of responses (`more_set_headers`).
///
/// Features store it among the settings of a location as `Box<dyn HeadEdit>`.
pub trait HeadEdit: Send + Sync {
    /// Sets the media type of the response, before filters that depend on it run.
    fn set_media_type(&self, exchange: &mut Exchange, answer: &mut ContentResponse);

    /// Changes the header fields in `head`, the head to be sent, except `Content-Type`; called before `add_header`
    /// applies. `answer` is the response together with the status that it had before a range was applied.
    fn edit(
        &self,
        request: &mut Request,
        frame: &mut Frame,
        answer: (&ContentResponse, u16),
        head: &mut ResponseText,
    );
}

/// Delay of a response whose status can still change (`image_filter`).
///
/// Features store it among the settings of a location as `Box<dyn ResponseHold>`.
pub trait ResponseHold: Send + Sync {
    /// Returns `Ok` with the response if it can be sent, otherwise `Err` with a step to run first. The method is called
    /// again with the response that this step produces, even if that is an error page, so the implementation must
    /// record its progress.
    #[expect(clippy::result_large_err, reason = "not an error: the other variant is the step to run")]
    fn hold(&self, exchange: &mut Exchange, answer: ContentResponse) -> Result<ContentResponse, PhaseStep>;
}

/// Counts the finished requests of a location. Features store it among the settings of a location as `Box<dyn
/// Counting>`.
pub trait Counting: Send + Sync {
    /// Counts a finished request. Called after the time of its end has been recorded in
    /// [`RequestOutcome::finished_ms`](super::RequestOutcome::finished_ms).
    fn count(&self, exchange: &mut Exchange);
}

/// Tracing of a location's requests (W3C trace context). Features store it among the settings of a location as `Box<dyn
/// Tracing>`.
pub trait Tracing: Send + Sync {
    /// Starts the tracing of a request that has entered the location, before rewrite rules run. Decides which trace
    /// context the origin receives and, unless an earlier location has decided, whether the request is recorded.
    fn begin(&self, exchange: &mut Exchange);

    /// Reports a finished request to the tracing system. Called at the same time as [`Counting::count`].
    fn end(&self, exchange: &mut Exchange);
}

/// Classification of clients, such as robots and prefetching browsers.
///
/// Features store it among the settings of a location as `Arc<dyn VisitorClasses>`.
pub trait VisitorClasses: Send + Sync {
    /// Returns the class of the client that sent a request; empty if no class matches.
    fn class<'a>(&'a self, request: &'a Request) -> &'a [u8];
}

/// Action after a response (`post_action`). Features store it among the settings of a location as `Box<dyn AfterSent>`.
pub trait AfterSent: Send + Sync {
    /// Starts the action after a finished request. Returns true if it was started; the action then writes the access
    /// log line.
    fn begin(&self, exchange: &mut Exchange) -> bool;
}

/// Verdict of an access check.
pub enum CheckVerdict {
    /// The check neither admits nor rejects the request.
    Pass,
    /// The check admits the client. With `satisfy any`, this decides; otherwise the other checks must admit the client,
    /// too.
    Allow,
    /// The request is rejected with 401 or 403; with `satisfy any` a later check can still admit the client.
    Refuse(u16),
    /// The request is rejected with 401 and these values of `WWW-Authenticate` (at least one); `satisfy any` applies as
    /// to `Refuse`.
    Challenge(Vec<Vec<u8>>),
    /// The request fails with this status, regardless of `satisfy`.
    Fail(u16),
    /// The check needs an asynchronous operation, whose result is the verdict.
    Wait(Box<dyn PendingStep<CheckVerdict>>),
}

impl CheckVerdict {
    /// Creates a [`CheckVerdict::Wait`] from an asynchronous closure, which returns the verdict and owns the state that
    /// it needs.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }
}

/// Handler of request methods that content handlers do not support, such as PURGE. Takes precedence over the content
/// handler of a location. Features store it among the settings of the location as `Box<dyn MethodHandler>`.
pub trait MethodHandler: Send + Sync {
    /// Returns true if this handler handles the method of the request on the current server.
    fn takes(&self, request: &Request) -> bool;

    /// Returns the methods that this handler supports in addition to GET and HEAD, for the field `Allow`.
    fn methods(&self) -> MethodSet {
        MethodSet::default()
    }

    /// Starts to produce the response, like [`Handler::begin`].
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep;
}

/// Handler that produces the response for a directory without an index file.
pub trait FolderHandler: Send + Sync {
    /// Starts to produce the response for the directory at `folder`. Must not block.
    fn begin(&self, folder: &Path) -> PhaseStep;
}

/// Point at which the processing of a subrequest starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubrequestStart {
    /// Start at the rewrite rules of the server, with the subrequest's URI.
    Server,
    /// Start at the content handler of the subrequest's current location.
    Place,
    /// Start in a named location of the server (`@name`).
    Named(Box<[u8]>),
}

/// Engine that runs the phases of requests. Crates of lower layers call it through `Generation::engine`, because they
/// cannot depend on the crate that implements it.
pub trait Engine: Sync {
    /// Runs the phases of an exchange from `start`, and returns its response as soon as the head is available; the body
    /// may still arrive.
    fn answer<'a>(
        &'static self,
        exchange: &'a mut Exchange,
        start: SubrequestStart,
    ) -> Pin<Box<dyn Future<Output = ContentResponse> + 'a>>;

    /// Returns the body of a subrequest's response for its parent: processed by the filters of its location, without
    /// content coding.
    fn body(&self, exchange: &mut Exchange, answer: ContentResponse) -> BoxBody;

    /// Processes a hypothetical request without any effect, and returns the decisions made. Blocks the thread for some
    /// milliseconds, so it must not run on a worker thread.
    ///
    /// # Errors
    /// A message for the user: the requested port has no listener, or a thread cannot be created.
    fn explain(
        &'static self,
        runtime: &Arc<Runtime>,
        question: &ExplainedRequest,
    ) -> Result<Vec<ExplainedDecision>, String>;
    /// Explains a subrequest that has a sink, up to the first step with an effect. Returns the response, or `None` if a
    /// step with an effect is necessary to produce it.
    fn explain_subrequest(&'static self, exchange: &mut Exchange) -> Option<ContentResponse>;
}
