//! Blocking HTTP and HTTPS client for ACME and OCSP, with limits of time and size. Each request uses a new connection.
//!
//! The client is `ureq`. This module sets its limits: a deadline for each request, heads of 16 KB, a maximum body size,
//! no proxy (the environment is ignored), and connections only to addresses returned by [`Resolve`] or given in the
//! URL.

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

/// Maximum duration of an HTTPS request to an ACME authority, including redirects. The resolution of a host name is not
/// interrupted.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time for connecting to all addresses of a host together; also the maximum duration of an OCSP query over all
/// addresses of the responder.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of addresses of a host to which a connection is tried.
const MOST_ADDRESSES: usize = 4;
/// Maximum size of a response body of an ACME authority in bytes. A certificate chain has some kilobytes.
const LARGEST: usize = 1 << 20;
/// Maximum size of a response head of an ACME authority or OCSP responder, in bytes.
const LARGEST_HEAD: usize = 16_384;
/// Value of the `User-Agent` header in requests to authorities and OCSP responders.
const AGENT: &str = concat!("Myriad/", env!("CARGO_PKG_VERSION"));
/// Maximum number of redirects that a GET follows; all must lead to https.
const MOST_REDIRECTS: u32 = 5;

/// Function that resolves a host name to addresses. The error is a message.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, String> + Send + Sync>;

/// HTTPS client for requests to ACME authorities, with fixed TLS settings and name resolution.
pub struct Https(Agent);

/// HTTP response whose body has been read completely.
#[derive(Debug)]
pub struct HttpsReply {
    /// Status code of the response.
    pub status: u16,
    /// Header fields of the response.
    pub fields: HeaderMap,
    /// Complete body of the response.
    pub body: Vec<u8>,
}

impl HttpsReply {
    /// Returns the value of the first header field with this name; `None` if there is none.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.get(name).map(HeaderValue::as_bytes)
    }
}

/// Parses a URL; `None` unless it has the given scheme, a host and no user information, and its port, if any, is valid
/// and not 0.
fn parse(url: &str, scheme: &Scheme) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let port = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    let is_port = port.is_none_or(|_| authority.port_u16().is_some_and(|port| port != 0));
    let is_sound = uri.scheme() == Some(scheme) && !authority.as_str().contains('@') && is_port;
    (is_sound && !host(&uri).is_empty()).then_some(uri)
}

/// Returns the host of a URL; an IPv6 address without its brackets.
fn host(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

/// Returns true if the text is an https URL that [`Https`] accepts.
pub fn is_url(url: &str) -> bool {
    parse(url, &Scheme::HTTPS).is_some()
}

/// Returns true if the text is an http URL with a host, no user information and, if it has a port, a valid one.
pub fn is_plain_url(url: &str) -> bool {
    parse(url, &Scheme::HTTP).is_some()
}

/// Returns the host in lower case and the port of an http URL (80 if it has none); `None` if the URL is not accepted by
/// [`is_plain_url`].
pub(crate) fn plain_host(url: &str) -> Option<(String, u16)> {
    parse(url, &Scheme::HTTP).map(|uri| (host(&uri).to_ascii_lowercase(), port(&uri)))
}

/// Returns the addresses of a URL's host, at least one. The error is a message.
fn addresses(uri: &Uri, resolve: &Resolve) -> Result<Vec<IpAddr>, String> {
    let host = host(uri);
    let found = host.parse().map_or_else(|_| resolve(host), |address| Ok(vec![address]))?;
    if found.is_empty() { Err(format!("\"{host}\" does not resolve to an address")) } else { Ok(found) }
}

/// Creates a `ureq` configuration with the maximum duration `patience` of a request, a limit of the response head, no
/// proxy, and a new connection for each request. A response with any status is no error.
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

/// Resolver for `ureq` that calls the contained function instead of the system's resolver, and uses its first
/// [`MOST_ADDRESSES`] addresses.
struct FixedResolver<F>(F);

impl<F> fmt::Debug for FixedResolver<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedResolver").finish_non_exhaustive()
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
    /// Creates a client with these TLS settings and this name resolution.
    pub fn new(tls: TlsConfig, resolve: Resolve) -> Self {
        Self::with_timeout(PATIENCE, tls, resolve)
    }

    fn with_timeout(patience: Duration, tls: TlsConfig, resolve: Resolve) -> Self {
        let config = limits(patience).https_only(true).tls_config(tls).max_redirects(0).build();
        let to = FixedResolver(move |uri: &Uri| addresses(uri, &resolve));
        Self(Agent::with_parts(config, DefaultConnector::default(), to))
    }

    /// Sends a GET request and follows up to five redirects, which must lead to https URLs. A response with any other
    /// status is returned, even 404 or 500.
    pub fn get(&self, url: &str) -> Result<HttpsReply, AcmeError> {
        let request = self.0.get(url).config().max_redirects(MOST_REDIRECTS).build();
        send_request(url, || request.call())
    }

    /// Sends a HEAD request, without following redirects. A response with any status is returned.
    pub fn head(&self, url: &str) -> Result<HttpsReply, AcmeError> {
        send_request(url, || self.0.head(url).call())
    }

    /// Sends a POST request with a JSON Web Signature as its body, without following redirects. With an empty `accept`,
    /// the request has no `Accept` header. A response with any status is returned.
    pub fn post(&self, url: &str, body: &str, accept: &str) -> Result<HttpsReply, AcmeError> {
        let mut request = self.0.post(url).content_type("application/jose+json");
        if !accept.is_empty() {
            request = request.header("Accept", accept);
        }
        send_request(url, || request.send(body))
    }
}

/// Checks that `url` is an https URL, sends the request by calling `ask`, and reads the response. Fails if the body is
/// larger than [`LARGEST`].
fn send_request(
    url: &str,
    ask: impl FnOnce() -> Result<Response<Body>, ureq::Error>,
) -> Result<HttpsReply, AcmeError> {
    let fail = |why: String| AcmeError::Connection { url: url.to_owned(), why };
    if !is_url(url) {
        return Err(fail("the URL is invalid or does not begin with https://".to_owned()));
    }
    ask()
        .map_err(|error| error_text(&error))
        .and_then(|response| read_response(response, LARGEST))
        .map_err(fail)
}

/// Reads the whole body of a response. Fails with a message if it cannot be read or is larger than `largest` bytes.
fn read_response(mut response: Response<Body>, largest: usize) -> Result<HttpsReply, String> {
    let announced = response.body().content_length();
    if announced.is_some_and(|length| length > largest as u64) {
        return Err(format!("the response is longer than {largest} bytes, according to its Content-Length"));
    }
    let body = response.body_mut().with_config().limit(largest as u64).read_to_vec();
    let body = body.map_err(|error| error_text(&error))?;
    let (head, _) = response.into_parts();
    Ok(HttpsReply { status: head.status.as_u16(), fields: head.headers, body })
}

/// Sends a GET request over plain HTTP, for responses that are signed themselves, such as OCSP. `suffix` is appended to
/// the URL's path after a `/`. The body may have up to `largest` bytes; redirects are not followed. The first
/// [`MOST_ADDRESSES`] addresses of the host are tried in turn, `worked` first, until one responds with status 200;
/// `worked` is then set to it. Otherwise the result of the last address is returned. The addresses share the time limit
/// [`CONNECT_PATIENCE`], so that a hanging address does not block the others. The error is a message.
pub(crate) fn get_plain(
    url: &str,
    suffix: &str,
    largest: usize,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<HttpsReply, String> {
    let uri = parse(url, &Scheme::HTTP).ok_or("the URL is invalid or does not begin with http://")?;
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

/// Sends a GET request to one address of the URL's host, with the maximum duration `patience` and the maximum body size
/// `largest` in bytes. The error is a message.
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

/// Converts an error of `ureq` to a message.
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
