//! Requests for tests of variables. The tests are in the module that defines the variable, or in
//! `tests/tests/in_process`; `tests/variables.rs` of this crate fails for a variable without a test.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use myriad_http::{HttpVersion, RequestHead};
use myriad_net::{Connection, RequestBody, TlsFacts};

use super::{compiled, new_generation};
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::Generation;

/// Request for a test of variables.
pub struct VariableCase<'a> {
    /// Method, target and HTTP version of the request.
    pub line: (&'a str, &'a str, HttpVersion),
    /// Header fields of the request: name and value.
    pub fields: &'a [(&'a str, &'a str)],
    /// Directives of the `server` block that receives the request.
    pub server: &'a str,
    /// Result of the connection's TLS handshake; `None` for a request without TLS.
    pub tls: Option<TlsFacts>,
}

impl Default for VariableCase<'_> {
    fn default() -> Self {
        Self { line: ("GET", "/", HttpVersion::Http11), fields: &[], server: "", tls: None }
    }
}

impl VariableCase<'_> {
    /// Creates the request with the settings of its server; no phase has run.
    pub fn begin(self) -> Box<Exchange> {
        let (method, target, version) = self.line;
        let fields = self.fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let mut head = RequestHead::from_parts(method.as_bytes(), target.as_bytes(), version, fields);
        let local = SocketAddr::from(([127, 0, 0, 1], 8080));
        let connection = Connection::for_internal_request(0, local, self.tls);
        let mut exchange = Exchange::begin(&site(self.server), &mut head, &connection, RequestBody::empty());
        let route = &mut exchange.request.route;
        route.place = exchange.request.site.runtime.servers[0].place;
        let (path, args) = target.split_once('?').unwrap_or((target, ""));
        route.uri.extend_from_slice(path.as_bytes());
        route.args.extend_from_slice(args.as_bytes());
        exchange
    }
}

/// Returns a site with one server that contains these directives.
fn site(server: &str) -> Rc<Generation> {
    let config =
        format!("events {{}} http {{ server {{ listen 127.0.0.1:8080; server_name a.example; {server} }} }}");
    new_generation(compiled(Path::new("/conf"), &config))
}

/// Returns the value of a variable; `None` if it has no value for the request. Also asserts that borrowing the value
/// gives the same result as appending it.
pub fn variable_value(exchange: &mut Exchange, name: &str) -> Option<String> {
    let variable = crate::variables().named(name).unwrap_or_else(|| panic!("${name} is not a variable"));
    let Exchange { request, frame } = exchange;
    let mut out = b"before".to_vec();
    let there = variable.append(request, frame, &mut out).unwrap();
    let written = out.strip_prefix(b"before").expect("the earlier bytes of the buffer");
    if let Some(ready) = variable.borrow(request) {
        assert_eq!((ready.is_some(), ready.unwrap_or_default()), (there, written), "${name}");
    }
    there.then(|| String::from_utf8_lossy(written).into_owned())
}

/// Asserts the values of variables.
pub fn assert_variables(exchange: &mut Exchange, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(variable_value(exchange, name).as_deref(), Some(*value), "${name}");
    }
}

/// Asserts that variables have no value for the request.
pub fn assert_unset(exchange: &mut Exchange, names: &[&str]) {
    for name in names {
        assert_eq!(variable_value(exchange, name), None, "${name}");
    }
}
