//! The journey of a page: looked up, waited for, fetched, stored, served. [`next`] shows its steps.

mod age;
mod arrival;
mod claim;
mod companion;
mod complete;
pub mod device_class;
mod disk;
mod early;
mod explain;
mod far_range;
mod fetch;
mod follow;
mod gather;
pub mod handler;
mod hidden_fields;
mod invalidate;
mod journey;
mod lead;
mod leader_cookies;
mod look_up;
mod next;
mod other_codings;
mod page;
mod pass;
mod reader;
mod refresh;
mod revalidate;
mod serve;
mod stale;
mod stale_instead;
#[cfg(test)]
mod testing;
mod told;
mod validity;
mod variables;

pub use variables::VARIABLES;
