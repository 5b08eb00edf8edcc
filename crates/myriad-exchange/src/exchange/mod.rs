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

pub use account::Account;
pub use answer::{Answer, MadeFrom};
pub use cache_facts::{OtherCodings, Shown};
pub use filter::{Filter, Filters};
pub use gathered::Gathered;
pub use lineage::{Lineage, TooMany};
pub use media_type::media_type_of;
pub use near::Stranger;
pub use origin_facts::OriginFacts;
pub use parts::{Carried, Tally};
pub use pulled::pulled;
pub use purpose::Purpose;
pub use question::Question;
pub use remembered::Remembered;
pub use request::{Exchange, Request};
pub use sink::{Line, Sink};
pub use slice::Slice;
pub use step::{
    AfterSent, Check, Counting, Engine, FolderHandler, GET_HEAD, Gate, Handler, HeadEdit, Hold,
    MethodHandler, Pending, Start, Step, Tracing, Verdict, VisitorClasses, Waiting,
};
pub use stored_fields::{StoredFields, of_page};
pub use traced::{Traced, Wait};
pub use variables::DocumentedVariable;
pub use visit::{LimitStatus, Visit};
