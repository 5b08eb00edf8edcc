//! Errors in the format of NGINX Plus's API.

use std::borrow::Cow;

use serde_json::{Value, json};

/// URL of the API documentation, which each error contains.
const HREF: &str = "https://nginx.org/en/docs/http/ngx_http_api_module.html";

/// Reason why a request of NGINX Plus's API is rejected, as status, code and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlusError {
    status: u16,
    code: &'static str,
    text: Cow<'static, str>,
}

impl PlusError {
    /// Creates an error with an HTTP status, an error code of the API and a text.
    pub(crate) fn new(status: u16, code: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, text: text.into() }
    }

    /// Returns the error for a path that does not exist.
    pub(super) fn no_path() -> Self {
        Self::new(404, "PathNotFound", "path not found")
    }

    /// Returns the error for a method that the path does not support.
    pub(super) fn no_method() -> Self {
        Self::new(405, "MethodNotAllowed", "method not allowed")
    }

    /// Returns the error for a change if the `api` is read-only.
    pub(crate) fn disabled() -> Self {
        Self::new(405, "MethodDisabled", "method disabled")
    }

    /// Returns the status of the response.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the JSON body. Before version 4 it also contains `path` and `method`, which are empty as in NGINX Plus.
    pub(super) fn body(&self, request_id: &str, version: u8) -> Value {
        let error = json!({ "status": self.status, "text": self.text, "code": self.code });
        let mut body = json!({ "error": error, "request_id": request_id, "href": HREF });
        if let (1..4, Some(members)) = (version, body.as_object_mut()) {
            members.insert("path".to_owned(), json!(""));
            members.insert("method".to_owned(), json!(""));
        }
        body
    }
}
