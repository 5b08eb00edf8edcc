//! Zones of `limit_req_zone` and `limit_conn_zone`: a key that identifies clients, and a table of counts by key.
//!
//! | file | contents |
//! |---|---|
//! | `settings` | declared zones, and parsers shared by both directives |
//! | `table` | zones at run time; tables that survive a reload |
//! | `usage` | use of a zone on the nodes of a cluster |
//! | `examine` | validation of zone names |

mod examine;
mod settings;
mod table;
mod usage;

pub(crate) use examine::examine;
pub use settings::{LimitKind, LimitZoneConf, limit_zones};
pub(crate) use settings::{add_zone, name_and_size, parse_cluster};
pub(crate) use table::weight;
pub use table::{LimitTable, LimitZone, ZoneTables};
pub(crate) use usage::MAX_REPORTED_KEYS;
pub use usage::{KeyUsage, LimitBlock, MAX_SHARED_KEY, PeerUsage, RequestRate, SharedLimitZone, UsageTable};
