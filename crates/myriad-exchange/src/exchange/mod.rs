//! Exchange: a request being processed, and its response.

mod admin_access;
mod body_conversion;
mod buffered_body;
mod cache_state;
mod child;
mod content_response;
mod decision_sink;
pub mod digits;
mod environment;
mod error_log_context;
pub mod exchange_buffers;
mod explained_request;
mod feature_state;
mod filter;
mod forwarded;
mod limit_results;
mod lineage;
mod media_type;
mod origin_state;
mod parts;
pub mod paths;
mod purpose;
mod request;
mod request_trace;
mod script_trace;
pub mod shortcut;
mod shown_upstream;
pub mod size;
mod slice;
mod step;
mod stored_fields;
mod target;
pub mod variables;
mod waits;

pub use admin_access::AdminDenied;
pub use body_conversion::pull_body;
pub use buffered_body::BufferedBody;
pub use cache_state::{CacheReport, OtherCodings};
pub use content_response::{ContentResponse, ResponseSource};
pub use decision_sink::{DecisionSink, ExplainedDecision};
pub use error_log_context::ErrorLogContext;
pub use explained_request::ExplainedRequest;
pub use feature_state::FeatureState;
pub use filter::{Filter, Filters};
pub use limit_results::{LimitResults, LimitStatus};
pub use lineage::{Lineage, TooMany};
pub use media_type::media_type_of;
pub use origin_state::OriginState;
pub use parts::{CarriedFields, EncodingSizes};
pub use purpose::FetchPurpose;
pub use request::{Exchange, Request};
pub use request_trace::{RecordedWait, RequestTrace};
pub use slice::Slice;
pub use step::{
    AccessGate, AfterSent, Check, CheckVerdict, Counting, Engine, FolderHandler, GET_HEAD, Handler, HeadEdit,
    MethodHandler, PendingStep, PhaseStep, ResponseHold, StepFuture, SubrequestStart, Tracing,
    VisitorClasses,
};
pub use stored_fields::{StoredFields, of_page};
pub use variables::DocumentedVariable;
