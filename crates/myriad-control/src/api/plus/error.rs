//! Errors in the form of NGINX Plus's API.

use std::borrow::Cow;

use serde_json::{Value, json};

/// Where the documentation of the API is, which each error names.
const HREF: &str = "https://nginx.org/en/docs/http/ngx_http_api_module.html";

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlusError {
    status: u16,
    code: &'static str,
    text: Cow<'static, str>,
}

impl PlusError {
    /// A status, the API's code, and a sentence.
    pub(crate) fn new(status: u16, code: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, text: text.into() }
    }

    /// There is nothing behind the path.
    pub(super) fn no_path() -> Self {
        Self::new(404, "PathNotFound", "path not found")
    }

    /// The path is there, and has no such method.
    pub(super) fn no_method() -> Self {
        Self::new(405, "MethodNotAllowed", "method not allowed")
    }

    /// The `api` only shows.
    pub(crate) fn disabled() -> Self {
        Self::new(405, "MethodDisabled", "method disabled")
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    /// The body. Before version 4 it had fields of the request, which stay empty as in NGINX Plus.
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
