//! Visitor with a browser: cookies and forms.

use std::collections::BTreeMap;

use crate::{Answer, Client, Request};

/// Client that stores the cookies of the site.
#[derive(Clone, Debug)]
pub struct Visitor {
    port: u16,
    cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// Creates a visitor without cookies for the site on this port of `127.0.0.1`.
    pub fn new(port: u16) -> Self {
        Self { port, cookies: BTreeMap::new() }
    }

    /// Fetches a page.
    pub fn get(&mut self, target: &str) -> Answer {
        self.fetch(Request::get(target))
    }

    /// Submits a form.
    pub fn post(&mut self, target: &str, form: &[(&str, &str)]) -> Answer {
        let pair = |(name, value): &(&str, &str)| format!("{}={}", escaped(name), escaped(value));
        let body = form.iter().map(pair).collect::<Vec<_>>().join("&");
        self.fetch(Request::post(target, body).field("Content-Type", "application/x-www-form-urlencoded"))
    }

    /// Sends a request with the stored cookies, and stores the cookies of the response; redirects are not followed.
    pub fn fetch(&mut self, request: Request) -> Answer {
        let mut request = request.host(&format!("127.0.0.1:{}", self.port));
        if !self.cookies.is_empty() {
            let cookies: Vec<_> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.field("Cookie", &cookies.join("; "));
        }
        let answer = Client::connect(self.port).fetch(&request);
        for cookie in answer.all("Set-Cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.trim().to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Returns whether a cookie with this name prefix is stored.
    pub fn has_cookie(&self, prefix: &str) -> bool {
        self.cookies.keys().any(|name| name.starts_with(prefix))
    }
}

/// Encodes a text as `application/x-www-form-urlencoded`.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
