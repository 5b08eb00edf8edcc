//! What an origin gets of a request.

/// What is passed on of a request.
#[derive(Clone, Copy)]
pub struct RequestRules {
    /// `*_pass_request_headers`: whether the client's fields are.
    pub pass_fields: bool,
    /// `*_pass_request_body`: whether the client's body is.
    pub pass_body: bool,
    /// `*_request_buffering`: whether a body is read before the origin is asked.
    pub buffering: bool,
}
