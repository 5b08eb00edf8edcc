//! Paths and field names of NGINX Plus's HTTP API (`ngx_http_api_module`), so that its exporters and dashboards work
//! with Myriad.
//!
//! ```text
//! GET    …/                                         the versions: [1,…,9]
//! GET    …/9/…                                      the objects of `tree`; ?fields=
//! DELETE …/9/…                                      resets counts, where the API documentation permits it
//! POST   …/9/http/upstreams/GROUP/servers           adds a server
//! PATCH  …/9/http/upstreams/GROUP/servers/ID        changes it
//! DELETE …/9/http/upstreams/GROUP/servers/ID        removes it; the same for `stream`
//! ```
//!
//! | file | content |
//! |---|---|
//! | `request` | requests: version, path, arguments |
//! | `error` | errors in the API's format |
//! | `node` | value of a path, and `?fields=` |
//! | `tree` | mapping of paths to values |
//! | `site` | data sources of a running site |
//! | `general`, `caches`, `zones`, `peers`, `tls` | the objects |
//! | `servers` | configuration of the servers of a group, and its changes |
//! | `baseline` | reset of counts |

mod answer;
mod baseline;
mod caches;
mod error;
mod general;
mod node;
mod peers;
mod request;
mod servers;
mod site;
mod tls;
mod tree;
mod zones;

pub(super) use answer::{answer, rejection, versions};
pub(super) use error::PlusError;
pub(super) use request::{PlusRequest, is_version, version_of};
