//! Geolocation of clients: variables from databases of addresses.
//!
//! | module | contents |
//! |---|---|
//! | `geoip` | `geoip_country`, `geoip_city`, `geoip_org`: databases in the legacy format |
//! | `geoip2` | `geoip2 FILE { ... }`: databases in MaxMind's current format, as supported by the module of that name |
//! | `client_address` | address that is looked up: of the client, or reported by a trusted proxy |
//! | `file` | database in memory that is reloaded after a change of its file |

mod client_address;
mod file;
pub mod geoip;
pub mod geoip2;
