//! What the core of serving knows of features: steps on the way to an answer, content, checks, waits, changed fields.

use std::any::Any;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::body::BoxBody;
use myriad_http::{Method, MethodSet};
use myriad_net::Head;
use myriad_script::Frame;

use super::{Answer, Exchange, Line, Question, Request};
use crate::runtime::Runtime;

/// What a phase or a handler came to.
pub enum Step {
    /// The answer.
    Answer(Answer),
    /// Something to wait for.
    Wait(Box<dyn Pending>),
    /// The visitor may come in: the content of the place is next.
    Enter,
    /// The URI is another one now: an internal redirect.
    Redirect,
    /// Go on in a named location.
    Named(Box<[u8]>),
    /// An error, to be answered by an `error_page` or the built-in page.
    Error(u16),
}

impl Step {
    /// A wait for what an asynchronous closure does; it holds all that it needs to go on with.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }

    /// Returns an error 405 for a method that the server does not support here; `supported` is the value of `Allow`.
    pub fn method_not_allowed(request: &mut Request, supported: MethodSet) -> Self {
        request.errors.supported = supported;
        Self::Error(405)
    }
}

/// Methods of handlers that only read.
pub const GET_HEAD: MethodSet = MethodSet::of(&[Method::Get, Method::Head]);

/// A future that comes to the next step, or to a verdict. It is not `Send`: an exchange stays on its worker.
pub type Waiting<'a, T = Step> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Something that a request waits for: a file to be read, an origin to be asked, a page on its way.
///
/// It holds what was found out before the wait, so that nobody looks for it again behind it. Dropped, it has no effect.
pub trait Pending<T = Step> {
    /// Waits, and says how the request goes on.
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> Waiting<'_, T>;

    /// Says what would be waited for, where a request is only explained.
    fn explain(&self, _: &mut Exchange) {}
}

impl<T, F: AsyncFnOnce(&mut Exchange) -> T + 'static> Pending<T> for F {
    fn wait(self: Box<Self>, exchange: &mut Exchange) -> Waiting<'_, T> {
        // Room first: the future, some kilobytes, is then made where it stays.
        let room = Box::new_uninit();
        let future = Box::write(room, (*self)(exchange));
        Box::into_pin(future)
    }
}

/// What makes the content of a place.
pub trait Handler: Send + Sync {
    /// Begins the answer. It must not block: what takes time is a [`Step::Wait`].
    fn begin(&self, exchange: &mut Exchange) -> Step;

    /// The answer for a request like one before, whose place and key are known already: a fresh page, a file in memory. None
    /// takes the long way.
    fn shortcut(&self, _: &mut Exchange) -> Option<Step> {
        None
    }

    /// Whether requests may take the short way to it, as far as it has a say itself.
    fn may_shorten(&self) -> bool {
        false
    }

    /// What it was compiled to, for those who know the type.
    fn compiled(&self) -> Option<&dyn Any> {
        None
    }

    /// The same while the configuration is compiled and nobody else has it.
    fn compiled_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// The checks of a place, asked before its content. A place without any has no gate.
pub struct Gate {
    /// The checks, in the order in which they are asked.
    pub checks: Vec<Box<dyn Check>>,
    /// `satisfy any`: one check that lets the visitor in is enough.
    pub any: bool,
    /// `auth_delay`: how long a 401 is held back, milliseconds.
    pub delay_ms: u64,
}

impl Gate {
    /// Whether a check tells visitors apart by who they are: see [`Check::identifies`].
    pub fn identifies(&self) -> bool {
        self.checks.iter().any(|check| check.identifies())
    }

    /// Whether nobody comes in who has not said who they are. With `satisfy any` an address may be enough.
    pub fn identifies_all(&self) -> bool {
        self.identifies() && !(self.any && self.rules_addresses())
    }

    /// Whether a check rules which addresses may come in: see [`Check::rules_addresses`].
    pub fn rules_addresses(&self) -> bool {
        self.checks.iter().any(|check| check.rules_addresses())
    }
}

/// A check of visitors, as a place has it: who may come in, how fast, how much at once.
pub trait Check: Send + Sync {
    /// The directive, as explanations name it.
    fn name(&self) -> &'static str;

    /// Judges a request. It must not block: what takes time is a [`Verdict::Wait`].
    fn judge(&self, exchange: &mut Exchange) -> Verdict;

    /// What is told of a request that is only explained, and the verdict that it goes on with. It has no effect: nothing is
    /// counted, nobody is asked. An empty text is not told.
    fn explain(&self, request: &Request) -> (String, Verdict);

    /// Whether it is asked for subrequests too. Else only the request that they belong to is judged.
    fn judges_subrequests(&self) -> bool {
        false
    }

    /// Whether it is told of every visitor who may come in, and of nobody else, rather than asked: it stands behind the others.
    fn is_told_of_the_admitted(&self) -> bool {
        false
    }

    /// Whether it lets in only visitors that have said who they are.
    fn identifies(&self) -> bool {
        false
    }

    /// Whether it says which addresses may come in.
    fn rules_addresses(&self) -> bool {
        false
    }
}

/// Changes the fields of a place's answers (`more_set_headers`). A feature keeps one for the place as `Box<dyn HeadEdit>`.
pub trait HeadEdit: Send + Sync {
    /// Sets the media type, ahead of the filters that ask for it.
    fn settle_type(&self, exchange: &mut Exchange, answer: &mut Answer);

    /// Changes the other fields, ahead of `add_header`, for an answer and the status that it had before a range was cut.
    fn edit(&self, request: &mut Request, frame: &mut Frame, answer: (&Answer, u16), head: &mut Head);
}

/// Holds an answer back until it is known what becomes of it: its status may still change (`image_filter`). A feature keeps one for
/// the place as `Box<dyn Hold>`.
pub trait Hold: Send + Sync {
    /// Gives the answer back where it may be sent, else the step that comes first. Answers that come of that step are given to it once
    /// more, and so are pages of errors: it has to remember what it has seen.
    #[expect(clippy::result_large_err, reason = "nothing fails: a step is the other way on")]
    fn hold(&self, exchange: &mut Exchange, answer: Answer) -> Result<Answer, Step>;
}

/// Counts the finished requests of a place. A feature keeps one for the place as `Box<dyn Counting>`.
pub trait Counting: Send + Sync {
    /// Counts a request that is over, when its end has been noted ([`Outcome::finished_ms`](super::Outcome::finished_ms)).
    fn count(&self, exchange: &mut Exchange);
}

/// Traces the requests of a place. A feature keeps one for the place as `Box<dyn Tracing>`.
pub trait Tracing: Send + Sync {
    /// Takes a request that has come to the place, before its rules run: says whether it is traced, unless a place before has said it,
    /// and what its origin is told.
    fn begin(&self, exchange: &mut Exchange);

    /// Tells of a request that is over, as [`Counting::count`].
    fn end(&self, exchange: &mut Exchange);
}

/// Says which kind of robot a visitor is. A feature keeps one for the place as `Arc<dyn VisitorClasses>`.
pub trait VisitorClasses: Send + Sync {
    /// The class; empty for a visitor that is none.
    fn class<'a>(&'a self, request: &'a Request) -> &'a [u8];
}

/// Begins what follows an answer that has been sent (`post_action`). A feature keeps one for the place as `Box<dyn AfterSent>`.
pub trait AfterSent: Send + Sync {
    /// Begins it for a request that is over, and says whether it did: then it writes the line of the access log.
    fn begin(&self, exchange: &mut Exchange) -> bool;
}

/// What a check came to.
pub enum Verdict {
    /// Nothing to say.
    Pass,
    /// Let in.
    Allow,
    /// Kept out, with 401 or 403; under `satisfy any` a later check may still let the visitor in.
    Refuse(u16),
    /// Kept out with 401, and told how to come in: the values of `WWW-Authenticate`, at least one.
    Challenge(Vec<Vec<u8>>),
    /// The request ends with this status, whatever `satisfy` says.
    Fail(u16),
    /// To be told later.
    Wait(Box<dyn Pending<Verdict>>),
}

impl Verdict {
    /// A verdict that an asynchronous closure comes to; it holds all that it needs.
    pub fn wait(work: impl AsyncFnOnce(&mut Exchange) -> Self + 'static) -> Self {
        Self::Wait(Box::new(work))
    }
}

/// What takes methods that files do not take: a purge of a file's URL is for the zones of its server. A feature keeps
/// one for a place as `Box<dyn MethodHandler>`; it is asked first.
pub trait MethodHandler: Send + Sync {
    /// Whether it takes the method of the request, on the server where the request is.
    fn takes(&self, request: &Request) -> bool;

    /// Methods that the place supports besides GET and HEAD, as `Allow` lists them.
    fn methods(&self) -> MethodSet {
        MethodSet::default()
    }

    /// Begins the answer, as [`Handler::begin`].
    fn begin(&self, exchange: &mut Exchange) -> Step;
}

/// What answers for a folder that has no index.
pub trait FolderHandler: Send + Sync {
    /// Begins the answer, as [`Handler::begin`].
    fn begin(&self, folder: &Path) -> Step;
}

/// Where a subrequest begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the server's rules, with the URI that it is asked for.
    Server,
    /// At the content of the place where it is.
    Place,
    /// In that named location of the server.
    Named(Box<[u8]>),
}

/// What runs the phases. The generation holds it, so that a subrequest can be run by whoever needs its answer, below the phases.
pub trait Engine: Sync {
    /// Runs an exchange to its answer.
    fn answer<'a>(
        &'static self,
        exchange: &'a mut Exchange,
        start: Start,
    ) -> Pin<Box<dyn Future<Output = Answer> + 'a>>;

    /// What a parent gets of a subrequest's answer: the body as the filters of its place leave it, in identity.
    fn body(&self, exchange: &mut Exchange, answer: Answer) -> BoxBody;

    /// Takes a request through the site without any effect, and tells what was decided on its way. It takes a thread for some
    /// milliseconds: not one of a worker's.
    ///
    /// # Errors
    /// Nobody listens where it is asked for; the machine has no descriptors left.
    fn explain(&'static self, runtime: &Arc<Runtime>, question: &Question) -> Result<Vec<Line>, String>;
    /// Explains a subrequest that has a sink, up to the first step with an effect. Returns its answer if it needs no such step.
    fn explain_subrequest(&'static self, exchange: &mut Exchange) -> Option<Answer>;
}
