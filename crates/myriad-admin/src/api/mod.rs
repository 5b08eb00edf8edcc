//! `api`: inspection and administration over HTTP, in JSON.
//!
//! ```text
//! GET  …/cache                      statistics of all zones; ?zone=
//! GET  …/cache/pages                stored pages; ?zone= host= match= limit= after=
//! GET  …/cache/page?page=URL|KEY    one page, every variant; ?zone= body=on
//! GET  …/memory                     memory of the process
//! GET  …/cluster                    nodes of the cluster, receipts of purges
//! GET  …/upstreams                  status of the servers of groups; ?group= server=
//! POST …/upstreams                  {"group":…,"server":…,"state":"up"|"drain"|"down"}
//! …    …/9/…                        the paths of NGINX Plus's API, see `plus`
//! GET  …/live                       events, each second
//! GET  …/tops                       pages ranked by cost; ?by= limit=
//! GET  …/history                    history of figures; ?range= step=
//! GET  …/purges                     last purges; ?zone= limit=
//! GET  …/leaks                      findings of the leak guard; ?zone=
//! GET  …/tags                       tags of stored pages; ?zone= match= page= limit=
//! GET  …/inspect?url=URL            routing of a request; ?method= cookie= ...
//! GET  …/reasons                    meanings of reasons
//! GET  …/openapi.json               description of the API
//! POST …/purge                      {"urls":[…],"tags":[…],"wildcards":[…],"regexes":[…],"hosts":[…],"all":…,"soft":…,"invalidate":…,"zone":…}
//! POST …/writes?tag=TAG             writes of an application: invalidates pages if the body does not arrive in full
//! ```

mod admission;
mod answer;
mod arguments;
mod call;
mod directives;
mod handler;
mod inspect;
mod plus;
mod scope;
mod unfinished_writes;

pub(crate) use admission::{RequestPermit, admit, check_access, explained_answer};
pub(crate) use answer::ApiRejection;
pub(crate) use handler::ApiHandler;
use myriad_exchange::feature::Feature;
pub(crate) use scope::ApiScope;

/// Registration of the directive `api`.
pub const FEATURE: Feature =
    Feature::new("control", directives::ROWS).examining_locations(directives::examine);
