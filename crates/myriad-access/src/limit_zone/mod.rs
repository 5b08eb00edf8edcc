//! Zones of `limit_req_zone` and `limit_conn_zone`: the key that identifies clients, and a table of their counts.

mod examine;
mod settings;
mod table;

pub(crate) use examine::examine;
pub use settings::{LimitKind, LimitZoneConf, limit_zones};
pub(crate) use settings::{add_zone, name_and_size};
pub(crate) use table::weight;
pub use table::{LimitTable, LimitZone, ZoneTables};
