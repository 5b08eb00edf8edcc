//! What may be asked of the API.

use myriad_admin::Request as Asked;

/// What a request asks for, once it was found that it may.
pub(crate) enum Call {
    /// To be answered as it is.
    Known(Asked),
    /// A purge, whose body is to be read.
    Purge,
    /// A change of servers of a group, whose body is to be read.
    ChangeUpstream,
}
