//! `api`: what administrators see and change, over HTTP and as JSON.
//!
//! ```text
//! GET  …/cache                      the figures of all zones; ?zone=
//! GET  …/cache/pages                what is stored; ?zone= host= match= limit= after=
//! GET  …/cache/page?page=URL|KEY    one page, every variant
//! GET  …/upstreams                  how the servers of groups are doing; ?group= server=
//! POST …/upstreams                  {"group":…,"server":…,"state":"up"|"drain"|"down"}
//! …    …/9/…                        the paths of NGINX Plus's API, see `plus`
//! GET  …/live                       what happens, each second: events
//! GET  …/tops                       pages by what they cost; ?by= limit=
//! GET  …/history                    figures of the past; ?range= step=
//! GET  …/purges                     the last purges; ?zone= limit=
//! GET  …/tags                       the tags of stored pages; ?zone= match= page= limit=
//! GET  …/inspect?url=URL            the way of a request; ?method= cookie= ...
//! GET  …/reasons                    what reasons mean
//! POST …/purge                      {"urls":[…],"tags":[…],"wildcards":[…],"regexes":[…],"hosts":[…],"all":…,"soft":…,"invalidate":…,"zone":…}
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

pub(crate) use admission::{Turn, admit, explained, who_may};
pub(crate) use answer::Refusal;
pub(crate) use handler::ApiHandler;
use myriad_exchange::feature::Feature;
pub(crate) use scope::Scope;

/// The feature, for the list of them.
pub const FEATURE: Feature =
    Feature::new("control", directives::ROWS).examining_locations(directives::examine);
