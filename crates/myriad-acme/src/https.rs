//! Exchanges over HTTPS, or HTTP, each on a connection of its own: blocking, bounded in time and bytes.
//!
//! The client is `ureq`. What is asked for here bounds it: a deadline over all of an exchange, heads of 16 KB, bodies as large as
//! they may be, no proxy (whatever the environment says), connections to the addresses alone that [`Resolve`] gives.

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

use crate::error::Error;

/// How long one exchange may take in all, redirects included.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long connecting may take, which the addresses of a host share.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of a host that are tried.
const MOST_ADDRESSES: usize = 4;
/// The largest answer; a chain of certificates has some kilobytes.
const LARGEST: usize = 1 << 20;
/// The largest head of an answer, bytes.
const LARGEST_HEAD: usize = 16_384;
/// What the client calls itself.
const AGENT: &str = concat!("Myriad/", env!("CARGO_PKG_VERSION"));
/// Redirects that a GET follows, to https alone.
const MOST_REDIRECTS: u32 = 5;

/// Looks up a host name; an error is a sentence.
pub type Resolve = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, String> + Send + Sync>;

/// A client.
pub struct Https(Agent);

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub fields: HeaderMap,
    /// Its body, whole.
    pub body: Vec<u8>,
}

impl Reply {
    /// The first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.get(name).map(HeaderValue::as_bytes)
    }
}

/// A URL of that scheme with a host, a port that there is, and no password.
fn parse(url: &str, scheme: &Scheme) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let authority = uri.authority()?;
    let port = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    let is_port = port.is_none_or(|_| authority.port_u16().is_some_and(|port| port != 0));
    let is_sound = uri.scheme() == Some(scheme) && !authority.as_str().contains('@') && is_port;
    (is_sound && !host(&uri).is_empty()).then_some(uri)
}

/// The host of a URL, without the brackets of an address.
fn host(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

/// Whether a text is a URL that the client can ask.
pub fn is_url(url: &str) -> bool {
    parse(url, &Scheme::HTTPS).is_some()
}

/// Whether a text is a URL of plain HTTP.
pub fn is_plain_url(url: &str) -> bool {
    parse(url, &Scheme::HTTP).is_some()
}

/// The host of a URL of plain HTTP, and its port.
pub(crate) fn plain_host(url: &str) -> Option<(String, u16)> {
    parse(url, &Scheme::HTTP).map(|uri| (host(&uri).to_ascii_lowercase(), port(&uri)))
}

/// The addresses of a URL's host; an error is a sentence.
fn addresses(uri: &Uri, resolve: &Resolve) -> Result<Vec<IpAddr>, String> {
    let host = host(uri);
    let found = host.parse().map_or_else(|_| resolve(host), |address| Ok(vec![address]))?;
    if found.is_empty() { Err(format!("\"{host}\" has no address")) } else { Ok(found) }
}

/// What an exchange is bound by, that ends within `patience`.
fn bounded(patience: Duration) -> ureq::config::ConfigBuilder<ureq::typestate::AgentScope> {
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

/// Says where a client connects to.
struct To<F>(F);

impl<F> fmt::Debug for To<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("To")
    }
}

impl<F: Fn(&Uri) -> Result<Vec<IpAddr>, String> + Send + Sync + 'static> Resolver for To<F> {
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
    /// A client that speaks TLS so, and looks names up by this.
    pub fn new(tls: TlsConfig, resolve: Resolve) -> Self {
        Self::within(PATIENCE, tls, resolve)
    }

    fn within(patience: Duration, tls: TlsConfig, resolve: Resolve) -> Self {
        let config = bounded(patience).https_only(true).tls_config(tls).max_redirects(0).build();
        let to = To(move |uri: &Uri| addresses(uri, &resolve));
        Self(Agent::with_parts(config, DefaultConnector::default(), to))
    }

    /// `GET`, redirects followed.
    pub fn get(&self, url: &str) -> Result<Reply, Error> {
        let request = self.0.get(url).config().max_redirects(MOST_REDIRECTS).build();
        asked(url, || request.call())
    }

    /// `HEAD`.
    pub fn head(&self, url: &str) -> Result<Reply, Error> {
        asked(url, || self.0.head(url).call())
    }

    /// `POST` of a signed request.
    pub fn post(&self, url: &str, body: &str, accept: &str) -> Result<Reply, Error> {
        let mut request = self.0.post(url).content_type("application/jose+json");
        if !accept.is_empty() {
            request = request.header("Accept", accept);
        }
        asked(url, || request.send(body))
    }
}

/// Asks by an https URL.
fn asked(url: &str, ask: impl FnOnce() -> Result<Response<Body>, ureq::Error>) -> Result<Reply, Error> {
    let fail = |why: String| Error::Connection { url: url.to_owned(), why };
    if !is_url(url) {
        return Err(fail("it is no https URL".to_owned()));
    }
    ask().map_err(|error| said(&error)).and_then(|response| read(response, LARGEST)).map_err(fail)
}

/// The whole of an answer, whose body has no more than `largest` bytes. An error is a sentence.
fn read(mut response: Response<Body>, largest: usize) -> Result<Reply, String> {
    let announced = response.body().content_length();
    if announced.is_some_and(|length| length > largest as u64) {
        return Err("its length makes no sense".to_owned());
    }
    let body = response.body_mut().with_config().limit(largest as u64).read_to_vec();
    let body = body.map_err(|error| said(&error))?;
    let (head, _) = response.into_parts();
    Ok(Reply { status: head.status.as_u16(), fields: head.headers, body })
}

/// `GET` over plain HTTP, whose answer must prove itself and has no more than `largest` bytes; redirects are not followed. An
/// error is a sentence. The addresses of the host share the time, so that one which hangs does not stand for all: `worked`
/// is tried first, and told which answered.
pub(crate) fn get_plain(
    url: &str,
    suffix: &str,
    largest: usize,
    resolve: &Resolve,
    worked: &mut Option<IpAddr>,
) -> Result<Reply, String> {
    let uri = parse(url, &Scheme::HTTP).ok_or("it is no http URL")?;
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
        outcome = ask_at(*address, &question, share, largest);
        if outcome.as_ref().is_ok_and(|reply| reply.status == 200) {
            *worked = Some(*address);
            break;
        }
    }
    outcome
}

/// Asks one address. An error is a sentence.
fn ask_at(address: IpAddr, url: &str, patience: Duration, largest: usize) -> Result<Reply, String> {
    let config = bounded(patience).max_redirects(0).build();
    let agent = Agent::with_parts(config, DefaultConnector::default(), To(move |_: &Uri| Ok(vec![address])));
    let response = agent.get(url).call().map_err(|error| said(&error));
    response.and_then(|response| read(response, largest)).map_err(|why| format!("{address}: {why}"))
}

/// An error as it is told.
fn said(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) => {
            "it sends too much".to_owned()
        }
        ureq::Error::RequireHttpsOnly(_) => "it leads to what is no https URL".to_owned(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "its answer ends too early".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
