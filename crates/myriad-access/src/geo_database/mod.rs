//! Geolocation of clients: variables from databases of addresses.
//!
//! | module | contents |
//! |---|---|
//! | `geoip` | `geoip_country`, `geoip_city`, `geoip_org`: databases in the legacy format |
//! | `geoip2` | `geoip2 FILE { ... }`: databases in MaxMind's current format |
//! | `client_address` | client address that is looked up: of the connection, or reported by a trusted proxy |
//! | `file` | database file in memory, reloaded after a change |

mod client_address;
mod file;
pub mod geoip;
pub mod geoip2;
