//! What may be asked of the API.

use super::plus::Asked as Plus;
use myriad_admin::Request as Asked;
use myriad_exchange::exchange::Question;

/// What a request asks for, once it was found that it may.
pub(crate) enum Call {
    /// To be answered as it is.
    Known(Asked),
    /// The events, as they happen.
    Live,
    /// The way of a request, and what is stored for it.
    Inspect(Question, String),
    /// What reasons mean.
    Reasons,
    /// A purge, whose body is to be read.
    Purge,
    /// A change of servers of a group, whose body is to be read.
    ChangeUpstream,
    /// What NGINX Plus's API would be asked.
    Plus(Plus),
}
