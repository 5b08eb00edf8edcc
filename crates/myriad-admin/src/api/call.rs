//! Calls of the API.

use super::plus::PlusRequest as Plus;
use crate::protocol::AdminRequest as Asked;
use myriad_exchange::exchange::ExplainedRequest;

/// Call of an admitted request.
pub(crate) enum ApiCall {
    /// Request without further input.
    Known(Asked),
    /// Live events.
    Live,
    /// Routing of a request, and the pages stored for it.
    Inspect(ExplainedRequest, String),
    /// Meanings of reasons.
    Reasons,
    /// Purge with a request body.
    Purge,
    /// Change of servers of a group, with a request body.
    ChangeUpstream,
    /// Call of NGINX Plus's API.
    Plus(Plus),
}
