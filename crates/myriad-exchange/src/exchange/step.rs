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

/// Result of a phase or a handler.
pub enum PhaseStep {
    /// Response.
    Answer(ContentResponse),
    /// Asynchronous operation to wait for.
    Wait(Box<dyn PendingStep>),
    /// The client is admitted: the content of the place is next.
    Enter,
    /// The URI has changed: an internal redirect.
    Redirect,
    /// Continue in a named location.
    Named(Box<[u8]>),
    /// Error, to be answered by an `error_page` or the built-in page.
    Error(u16),
}

impl PhaseStep {
    /// Creates a wait for an asynchronous closure, which owns the state that it needs to continue.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }

    /// Returns an error 405 for a method that the server does not support here; `supported` is the value of `Allow`.
    pub fn method_not_allowed(request: &mut Request, supported: MethodSet) -> Self {
        request.errors.supported = supported;
        Self::Error(405)
    }
}

/// Methods of read-only handlers.
pub const GET_HEAD: MethodSet = MethodSet::of(&[Method::Get, Method::Head]);

/// Future of the next step or of a verdict. It is not `Send`: an exchange remains on its worker.
pub type StepFuture<'a, T = PhaseStep> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Operation that a request waits for: reading a file, a request to an origin, a page being fetched.
///
/// It owns the results determined before the wait, so that they are not computed again afterwards. Dropping it has no
/// effect.
pub trait PendingStep<T = PhaseStep> {
    /// Waits and returns how the request continues.
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_, T>;

    /// Reports the operation to the sink of a request that is only explained.
    fn explain(&self, _: &mut Exchange) {}
}

impl<T, F: AsyncFnOnce(&mut Exchange) -> T + 'static> PendingStep<T> for F {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> StepFuture<'_, T> {
        // Allocating first lets the future, which has some kilobytes, be constructed in place.
        let room = Box::new_uninit();
        let future = Box::write(room, (*self)(exchange));
        Box::into_pin(future)
    }
}

/// Content handler of a place.
pub trait Handler: Send + Sync {
    /// Starts the response. It must not block: operations that take time return [`PhaseStep::RecordedWait`].
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep;

    /// Returns the response to a request that matches an earlier request, with known place and key: a fresh page or a
    /// file in memory. With `None` the request is processed in full.
    fn shortcut(&self, _: &mut Exchange) -> Option<PhaseStep> {
        None
    }

    /// Returns whether the handler permits the shortcut for its requests.
    fn allows_shortcut(&self) -> bool {
        false
    }

    /// Returns the compiled state, for code that knows its type.
    fn compiled(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns the compiled state mutably, while the configuration is compiled and not shared yet.
    fn compiled_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// Access checks of a place, which run before its content handler. A place without checks has no gate.
pub struct AccessGate {
    /// Checks, in order of execution.
    pub checks: Vec<Box<dyn Check>>,
    /// `satisfy any`: one check that admits the client is sufficient.
    pub any: bool,
    /// `auth_delay`: time by which a 401 is delayed, in milliseconds.
    pub delay_ms: u64,
}

impl AccessGate {
    /// Returns whether a check identifies users: see [`Check::identifies`].
    pub fn identifies(&self) -> bool {
        self.checks.iter().any(|check| check.identifies())
    }

    /// Returns whether all admitted clients have been identified. With `satisfy any`, an address may be sufficient.
    pub fn identifies_all(&self) -> bool {
        self.identifies() && !(self.any && self.rules_addresses())
    }

    /// Returns whether a check decides by client address: see [`Check::rules_addresses`].
    pub fn rules_addresses(&self) -> bool {
        self.checks.iter().any(|check| check.rules_addresses())
    }
}

/// Access check of a place: by identity or address, by rate, or by concurrency.
pub trait Check: Send + Sync {
    /// Returns the name of the directive for explanations.
    fn name(&self) -> &'static str;

    /// Checks a request. It must not block: operations that take time return [`CheckVerdict::RecordedWait`].
    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict;

    /// Returns the explanation for a request that is only explained, and the verdict with which it continues. It has no
    /// effect: nothing is counted and no other server is contacted. An empty explanation is not shown.
    fn explain(&self, request: &Request) -> (String, CheckVerdict);

    /// Returns whether the check also runs for subrequests. Otherwise only the client's request is checked.
    fn judges_subrequests(&self) -> bool {
        false
    }

    /// Returns whether the check runs after all others, only for admitted clients, and only observes them.
    fn observes_admitted(&self) -> bool {
        false
    }

    /// Returns whether the check admits only identified users.
    fn identifies(&self) -> bool {
        false
    }

    /// Returns whether the check decides by client address.
    fn rules_addresses(&self) -> bool {
        false
    }
}

/// Changes the header fields of responses (`more_set_headers`).
///
/// A feature stores it in the place as `Box<dyn HeadEdit>`.
pub trait HeadEdit: Send + Sync {
    /// Sets the media type, before the filters that depend on it.
    fn set_media_type(&self, exchange: &mut Exchange, answer: &mut ContentResponse);

    /// Changes the other fields, before `add_header`. `answer` is the response with its status before a range was
    /// applied.
    fn edit(
        &self,
        request: &mut Request,
        frame: &mut Frame,
        answer: (&ContentResponse, u16),
        head: &mut ResponseText,
    );
}

/// Delays a response whose status can still change (`image_filter`).
///
/// A feature stores it in the place as `Box<dyn Hold>`.
pub trait ResponseHold: Send + Sync {
    /// Returns the response if it can be sent, otherwise the step to run first. It is called again with the responses
    /// of that step, including error pages, so the implementation must record its state.
    #[expect(clippy::result_large_err, reason = "nothing fails: a step is the other way on")]
    fn hold(&self, exchange: &mut Exchange, answer: ContentResponse) -> Result<ContentResponse, PhaseStep>;
}

/// Counts the finished requests of a place. A feature stores it in the place as `Box<dyn Counting>`.
pub trait Counting: Send + Sync {
    /// Counts a finished request after its finish time has been recorded
    /// ([`RequestOutcome::finished_ms`](super::RequestOutcome::finished_ms)).
    fn count(&self, exchange: &mut Exchange);
}

/// Traces the requests of a place. A feature stores it in the place as `Box<dyn Tracing>`.
pub trait Tracing: Send + Sync {
    /// Starts tracing a request that has entered the place, before its rules run. Decides whether it is traced, unless
    /// a previous place has decided, and which trace context its origin receives.
    fn begin(&self, exchange: &mut Exchange);

    /// Reports a finished request, at the same time as [`Counting::count`].
    fn end(&self, exchange: &mut Exchange);
}

/// Classifies clients, such as robots and prefetching browsers.
///
/// A feature stores it in the place as `Arc<dyn VisitorClasses>`.
pub trait VisitorClasses: Send + Sync {
    /// Returns the class of the client; empty for other clients.
    fn class<'a>(&'a self, request: &'a Request) -> &'a [u8];
}

/// Starts the action after a response (`post_action`). A feature stores it in the place as `Box<dyn AfterSent>`.
pub trait AfterSent: Send + Sync {
    /// Starts the action for a finished request. Returns whether it was started; it then writes the access log line.
    fn begin(&self, exchange: &mut Exchange) -> bool;
}

/// Result of a check.
pub enum CheckVerdict {
    /// The check has no opinion.
    Pass,
    /// The client is admitted.
    Allow,
    /// The request is rejected with 401 or 403; with `satisfy any` a later check can still admit the client.
    Refuse(u16),
    /// The request is rejected with 401 and these values of `WWW-Authenticate`, at least one value.
    Challenge(Vec<Vec<u8>>),
    /// The request fails with this status, independently of `satisfy`.
    Fail(u16),
    /// The verdict is available after a wait.
    Wait(Box<dyn PendingStep<CheckVerdict>>),
}

impl CheckVerdict {
    /// Creates a wait for the verdict of an asynchronous closure, which owns the state that it needs.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }
}

/// Handler of methods that files do not support: a purge of a file's URL applies to the zones of its server. A feature
/// stores it in a place as `Box<dyn MethodHandler>`; it takes precedence over the content handler.
pub trait MethodHandler: Send + Sync {
    /// Returns whether it handles the method of the request on the current server.
    fn takes(&self, request: &Request) -> bool;

    /// Returns the methods that the place supports in addition to GET and HEAD, for `Allow`.
    fn methods(&self) -> MethodSet {
        MethodSet::default()
    }

    /// Starts the response, like [`Handler::begin`].
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep;
}

/// Handler of folders without an index file.
pub trait FolderHandler: Send + Sync {
    /// Starts the response, like [`Handler::begin`].
    fn begin(&self, folder: &Path) -> PhaseStep;
}

/// Start position of a subrequest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubrequestStart {
    /// At the server's rules, with its URI.
    Server,
    /// At the content of its current place.
    Place,
    /// In a named location of the server.
    Named(Box<[u8]>),
}

/// Engine that runs the phases. The generation refers to it, so that modules below the phases can run subrequests.
pub trait Engine: Sync {
    /// Runs an exchange until its response is available.
    fn answer<'a>(
        &'static self,
        exchange: &'a mut Exchange,
        start: SubrequestStart,
    ) -> Pin<Box<dyn Future<Output = ContentResponse> + 'a>>;

    /// Returns the body of a subrequest's response for its parent: after the filters of its place, without content
    /// coding.
    fn body(&self, exchange: &mut Exchange, answer: ContentResponse) -> BoxBody;

    /// Processes a request without any effect and returns the decisions made. It blocks the thread for some
    /// milliseconds, so it must not run on a worker thread.
    ///
    /// # Errors
    /// The requested address has no listener, or the process is out of file descriptors.
    fn explain(
        &'static self,
        runtime: &Arc<Runtime>,
        question: &ExplainedRequest,
    ) -> Result<Vec<ExplainedDecision>, String>;
    /// Explains a subrequest that has a sink, up to the first step with an effect. Returns its response if it needs no
    /// such step.
    fn explain_subrequest(&'static self, exchange: &mut Exchange) -> Option<ContentResponse>;
}
