//! The paths and field names of NGINX Plus's HTTP API (`ngx_http_api_module`), so that its exporters and dashboards read Myriad.
//!
//! ```text
//! GET    …/                                         the versions: [1,…,9]
//! GET    …/9/…                                      what `tree` has; ?fields=
//! DELETE …/9/…                                      counts begin anew, where the description of the API says so
//! POST   …/9/http/upstreams/GROUP/servers           adds a server
//! PATCH  …/9/http/upstreams/GROUP/servers/ID        changes it
//! DELETE …/9/http/upstreams/GROUP/servers/ID        removes it; the same of `stream`
//! ```
//!
//! | file | what |
//! |---|---|
//! | `asked` | a request: version, path, arguments |
//! | `error` | errors in the API's form |
//! | `node` | what a path stands for, and `?fields=` |
//! | `tree` | which path stands for what |
//! | `site` | what is asked of a running site |
//! | `general`, `caches`, `zones`, `peers`, `tls` | the objects |
//! | `servers` | the servers of a group, as they are configured and changed |
//! | `baseline` | counts that begin anew |

mod answer;
mod asked;
mod baseline;
mod caches;
mod error;
mod general;
mod node;
mod peers;
mod servers;
mod site;
mod tls;
mod tree;
mod zones;

pub(super) use answer::{answer, refused, versions};
pub(super) use asked::{Asked, is_version, version_of};
pub(super) use error::PlusError;
