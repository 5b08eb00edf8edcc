//! Settings that determine which parts of a client's request an origin receives.

/// Parts of a client's request that are forwarded to an origin.
#[derive(Clone, Copy)]
pub struct RequestRules {
    /// `*_pass_request_headers`: the client's header fields are forwarded.
    pub pass_fields: bool,
    /// `*_pass_request_body`: the client's body is forwarded.
    pub pass_body: bool,
    /// `*_request_buffering`: the body is read completely before the request is sent to the origin.
    pub buffering: bool,
}
