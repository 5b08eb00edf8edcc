//! Parts of a request that an origin receives.

/// Parts of a request that are forwarded.
#[derive(Clone, Copy)]
pub struct RequestRules {
    /// `*_pass_request_headers`: true if the client's fields are forwarded.
    pub pass_fields: bool,
    /// `*_pass_request_body`: true if the client's body is forwarded.
    pub pass_body: bool,
    /// `*_request_buffering`: true if a body is read completely before the request is sent to the origin.
    pub buffering: bool,
}
