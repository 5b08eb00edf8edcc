//! Memory limit of the process (`memory_limit`), and the measures taken near the limit.
//!
//! | file | content |
//! |---|---|
//! | `stage` | stages of pressure with their measures, and the transitions between them |
//! | `caps` | memory limits of zones: growth into free memory, and reduction in steps under pressure |
//! | `allocator` | return of memory that zones have freed to the system |
//! | `machine` | parsing of kernel information about memory: of the process, of its control group |
//!
//! The crate consists of calculations on texts and figures: it reads no files and no clock.

mod allocator;
mod caps;
mod machine;
mod stage;

pub use allocator::{collect_freed_blocks, release_free_memory};
pub use caps::{ZoneMemory, update_limits};
pub use machine::{group_limit, group_path, resident_bytes};
pub use stage::{PressureStage, PressureTracker};
