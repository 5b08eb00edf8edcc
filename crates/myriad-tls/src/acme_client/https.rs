//! Exchanges over HTTPS or HTTP, each on a separate connection: blocking, with limits of time and size.
//!
//! The client is `ureq`. This module sets its limits: a deadline for the whole exchange, heads of 16 KB, a maximum body
//! size, no proxy (regardless of the environment), connections only to the addresses returned by [`Resolve`].

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::uri::Scheme;
use ureq::http::{HeaderMap, HeaderValue, Response, Uri};
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body};

use crate::acme_client::error::AcmeError;

/// Maximum duration of one exchange, including redirects.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum duration of connecting, shared by the addresses of a host.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of addresses of a host that are tried.
const MOST_ADDRESSES: usize = 4;
/// Maximum size of a response in bytes; a certificate chain has some kilobytes.
const LARGEST: usize = 1 << 20;
/// Maximum size of a response head in bytes.
const LARGEST_HEAD: usize = 16_384;
/// User agent of the client.
const AGENT: &str = concat!("Myriad/", env!("CARGO_PKG_VERSION"));
/// Maximum number of redirects followed by a GET, only to https.
const MOST_REDIRECTS: u32 = 5;

/// Resolves a host name; the error is a sentence.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, String> + Send + Sync>;

/// HTTPS client.
pub struct Https(Agent);

/// Response.
#[derive(Debug)]
pub struct HttpsReply {
    /// Status code.
    pub status: u16,
    /// Header fields.
    pub fields: HeaderMap,
    /// Complete body.
    pub body: Vec<u8>,
}

impl HttpsReply {
    /// Returns the first field with that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.get(name).map(HeaderValue::as_bytes)
    }
}

/// Parses a URL of that scheme with a host, a valid port, and no password.
fn parse(url: &str, scheme: &Scheme) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let port = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    let is_port = port.is_none_or(|_| authority.port_u16().is_some_and(|port| port != 0));
    let is_sound = uri.scheme() == Some(scheme) && !authority.as_str().contains('@') && is_port;
    (is_sound && !host(&uri).is_empty()).then_some(uri)
}

/// Returns the host of a URL, without the brackets of an address.
fn host(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

/// Returns whether a text is an https URL that the client accepts.
pub fn is_url(url: &str) -> bool {
    parse(url, &Scheme::HTTPS).is_some()
}

/// Returns whether a text is an http URL.
pub fn is_plain_url(url: &str) -> bool {
    parse(url, &Scheme::HTTP).is_some()
}

/// Returns the host and port of an http URL.
pub(crate) fn plain_host(url: &str) -> Option<(String, u16)> {
    parse(url, &Scheme::HTTP).map(|uri| (host(&uri).to_ascii_lowercase(), port(&uri)))
}

/// Returns the addresses of a URL's host; the error is a sentence.
fn addresses(uri: &Uri, resolve: &Resolve) -> Result<Vec<IpAddr>, String> {
    let host = host(uri);
    let found = host.parse().map_or_else(|_| resolve(host), |address| Ok(vec![address]))?;
    if found.is_empty() { Err(format!("\"{host}\" does not resolve to an address")) } else { Ok(found) }
}

/// Returns the limits of an exchange with the maximum duration `patience`.
fn limits(patience: Duration) -> ureq::config::ConfigBuilder<ureq::typestate::AgentScope> {
    Config::builder()
        .timeout_global(Some(patience))
        .timeout_connect(Some(CONNECT_PATIENCE))
        .max_response_header_size(LARGEST_HEAD)
        .max_idle_connections(0)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(AGENT)
        .accept("")
}

/// Resolver for the addresses of a client.
struct FixedResolver<F>(F);

impl<F> fmt::Debug for FixedResolver<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("To")
    }
}

impl<F: Fn(&Uri) -> Result<Vec<IpAddr>, String> + Send + Sync + 'static> Resolver for FixedResolver<F> {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = (self.0)(uri).map_err(|why| ureq::Error::Other(why.into()))?;
        let mut all = self.empty();
        for address in found.into_iter().take(MOST_ADDRESSES) {
            all.push(SocketAddr::new(address, port(uri)));
        }
        Ok(all)
    }
}

impl Https {
    /// Creates a client with these TLS settings and name resolution.
    pub fn new(tls: TlsConfig, resolve: Resolve) -> Self {
        Self::with_timeout(PATIENCE, tls, resolve)
    }

    fn with_timeout(patience: Duration, tls: TlsConfig, resolve: Resolve) -> Self {
        let config = limits(patience).https_only(true).tls_config(tls).max_redirects(0).build();
        let to = FixedResolver(move |uri: &Uri| addresses(uri, &resolve));
        Self(Agent::with_parts(config, DefaultConnector::default(), to))
    }

    /// Sends a `GET` and follows redirects.
    pub fn get(&self, url: &str) -> Result<HttpsReply, AcmeError> {
        let request = self.0.get(url).config().max_redirects(MOST_REDIRECTS).build();
        send_request(url, || request.call())
    }

    /// Sends a `HEAD`.
    pub fn head(&self, url: &str) -> Result<HttpsReply, AcmeError> {
        send_request(url, || self.0.head(url).call())
    }

    /// Sends a `POST` of a signed request.
    pub fn post(&self, url: &str, body: &str, accept: &str) -> Result<HttpsReply, AcmeError> {
        let mut request = self.0.post(url).content_type("application/jose+json");
        if !accept.is_empty() {
            request = request.header("Accept", accept);
        }
        send_request(url, || request.send(body))
    }
}

/// Performs a request for an https URL.
fn send_request(
    url: &str,
    ask: impl FnOnce() -> Result<Response<Body>, ureq::Error>,
) -> Result<HttpsReply, AcmeError> {
    let fail = |why: String| AcmeError::Connection { url: url.to_owned(), why };
    if !is_url(url) {
        return Err(fail("the URL must begin with https://".to_owned()));
    }
    ask()
        .map_err(|error| error_text(&error))
        .and_then(|response| read_response(response, LARGEST))
        .map_err(fail)
}

/// Reads the whole response, with a body of at most `largest` bytes. The error is a sentence.
fn read_response(mut response: Response<Body>, largest: usize) -> Result<HttpsReply, String> {
    let announced = response.body().content_length();
    if announced.is_some_and(|length| length > largest as u64) {
        return Err("invalid or too large Content-Length".to_owned());
    }
    let body = response.body_mut().with_config().limit(largest as u64).read_to_vec();
    let body = body.map_err(|error| error_text(&error))?;
    let (head, _) = response.into_parts();
    Ok(HttpsReply { status: head.status.as_u16(), fields: head.headers, body })
}

/// Sends a `GET` over plain HTTP, for signed responses of at most `largest` bytes, without following redirects. The
/// error is a sentence. The addresses of the host share the time, so that a hanging address does not block the others.
/// `worked` is tried first, and set to the address that responded.
pub(crate) fn get_plain(
    url: &str,
    suffix: &str,
    largest: usize,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<HttpsReply, String> {
    let uri = parse(url, &Scheme::HTTP).ok_or("the URL must begin with http://")?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let between = if path.ends_with('/') { "" } else { "/" };
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let question = format!("http://{authority}{path}{between}{suffix}");
    let mut addresses = addresses(&uri, resolve)?;
    addresses.sort_by_key(|address| Some(*address) != *worked);
    addresses.truncate(MOST_ADDRESSES);
    let end = Instant::now() + CONNECT_PATIENCE;
    let mut outcome = Err(String::new());
    for (index, address) in addresses.iter().enumerate() {
        let share = end.saturating_duration_since(Instant::now()) / (addresses.len() - index) as u32;
        outcome = get_from_address(*address, &question, share, largest);
        if outcome.as_ref().is_ok_and(|reply| reply.status == 200) {
            *worked = Some(*address);
            break;
        }
    }
    outcome
}

/// Sends the request to one address. The error is a sentence.
fn get_from_address(
    address: IpAddr,
    url: &str,
    patience: Duration,
    largest: usize,
) -> Result<HttpsReply, String> {
    let config = limits(patience).max_redirects(0).build();
    let agent = Agent::with_parts(
        config,
        DefaultConnector::default(),
        FixedResolver(move |_: &Uri| Ok(vec![address])),
    );
    let response = agent.get(url).call().map_err(|error| error_text(&error));
    response.and_then(|response| read_response(response, largest)).map_err(|why| format!("{address}: {why}"))
}

/// Converts an error to a message.
fn error_text(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the request timed out".to_owned(),
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => {
            "the response is too large".to_owned()
        }
        ureq::Error::RequireHttpsOnly(_) => "the response redirects to a URL without https".to_owned(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the response is incomplete".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
