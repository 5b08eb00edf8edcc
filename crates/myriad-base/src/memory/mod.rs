//! Memory limit of the process (`memory_limit`), and the measures taken near it.
//!
//! | file | content |
//! |---|---|
//! | `stage` | stages of pressure with their measures, and the transitions between them |
//! | `caps` | memory limits of zones: growth into free memory, and reduction in steps under pressure |
//! | `allocator` | return of freed memory to the system |
//! | `machine` | parsing of the kernel's files about the memory of the process and its control group |
//!
//! Except for `allocator`, the module only calculates: it reads no files and no clock.

mod allocator;
mod caps;
mod machine;
mod stage;

pub use allocator::{collect_freed_blocks, release_free_memory};
pub use caps::{ZoneMemory, update_limits};
pub use machine::{group_limit, group_path, resident_bytes};
pub use stage::{PressureStage, PressureTracker};
