//! What may be asked of the API.

use super::plus::Asked as Plus;
use myriad_admin::Request as Asked;

/// What a request asks for, once it was found that it may.
pub(crate) enum Call {
    /// To be answered as it is.
    Known(Asked),
    /// A purge, whose body is to be read.
    Purge,
    /// A change of servers of a group, whose body is to be read.
    ChangeUpstream,
    /// What NGINX Plus's API would be asked.
    Plus(Plus),
}
