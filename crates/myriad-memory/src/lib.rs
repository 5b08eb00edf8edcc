//! How much memory the process may have (`memory_limit`), and what gives way as it comes near that.
//!
//! | file | what |
//! |---|---|
//! | `stage` | the stages of pressure, each with what is done in it, and the ladder that leads from one to the next |
//! | `caps` | what zones may hold in memory: what room there is, and less by steps under pressure |
//! | `allocator` | what has the allocator give back to the system what zones have given up |
//! | `machine` | what the kernel says of memory: of the process, of its control group |
//!
//! All of it is arithmetic: texts and figures come in, nothing is read and no clock is asked.

#![forbid(unsafe_code)]

mod allocator;
mod caps;
mod machine;
mod stage;

pub use allocator::{give_back, take_in};
pub use caps::{Cap, recap};
pub use machine::{group_limit, group_path, resident_bytes};
pub use stage::{Ladder, Stage};
