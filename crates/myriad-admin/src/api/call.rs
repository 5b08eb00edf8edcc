//! Parsed calls of the API.

use super::admission::RequestPermit;
use super::plus::PlusRequest as Plus;
use crate::protocol::AdminRequest as Asked;
use myriad_exchange::exchange::ExplainedRequest;

/// Call of the API by an admitted client.
pub(crate) enum ApiCall {
    /// Administration request that is defined by its path and query arguments, without a body.
    Known(Asked),
    /// Stream of live events.
    Live,
    /// Inspection: the request whose routing is to be explained, and its URL as sent by the client.
    Inspect(ExplainedRequest, String),
    /// Meanings of the reasons why responses are not cache hits.
    Reasons,
    /// Purge, described by the request body.
    Purge,
    /// Start of writes by an application, which may be killed before it purges the changed pages, and the tag of the
    /// pages that are invalidated then.
    Writes(String, RequestPermit),
    /// Change of servers of an upstream group, described by the request body.
    ChangeUpstream,
    /// Call of NGINX Plus's API.
    Plus(Plus),
}
