//! Zones of `limit_req_zone` and `limit_conn_zone`: what visitors are told apart by, and a table of what is known of them.

mod examine;
mod settings;
mod table;

pub(crate) use examine::examine;
pub use settings::{LimitKind, LimitZoneConf, limit_zones};
pub(crate) use settings::{add_zone, name_and_size};
pub(crate) use table::weight;
pub use table::{LimitZone, Table, Tables};
