//! Exchange: a request in progress, the state that scripts may read, and its response.

mod account;
mod answer;
mod cache_facts;
mod child;
pub mod digits;
mod environment;
mod filter;
mod forwarded;
mod gathered;
mod lineage;
mod media_type;
mod near;
mod origin_facts;
mod parts;
pub mod paths;
mod pulled;
mod purpose;
mod question;
mod remembered;
mod request;
pub mod scratch;
pub mod shortcut;
mod shown_upstream;
mod sink;
pub mod size;
mod slice;
mod step;
mod stored_fields;
mod target;
mod traced;
pub mod variables;
mod visit;
mod waits;
mod watch;

pub use account::ErrorLogContext;
pub use answer::{ContentResponse, ResponseSource};
pub use cache_facts::{CacheReport, OtherCodings};
pub use filter::{Filter, Filters};
pub use gathered::BufferedBody;
pub use lineage::{Lineage, TooMany};
pub use media_type::media_type_of;
pub use near::AdminDenied;
pub use origin_facts::OriginState;
pub use parts::{CarriedFields, EncodingSizes};
pub use pulled::pull_body;
pub use purpose::FetchPurpose;
pub use question::ExplainedRequest;
pub use remembered::FeatureState;
pub use request::{Exchange, Request};
pub use sink::{DecisionSink, ExplainedDecision};
pub use slice::Slice;
pub use step::{
    AccessGate, AfterSent, Check, CheckVerdict, Counting, Engine, FolderHandler, GET_HEAD, Handler, HeadEdit,
    MethodHandler, PendingStep, PhaseStep, ResponseHold, StepFuture, SubrequestStart, Tracing,
    VisitorClasses,
};
pub use stored_fields::{StoredFields, of_page};
pub use traced::{RecordedWait, RequestTrace};
pub use variables::DocumentedVariable;
pub use visit::{LimitResults, LimitStatus};
