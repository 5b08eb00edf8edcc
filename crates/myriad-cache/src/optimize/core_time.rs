//! Budget of the page optimizer.

use crate::work_budget::WorkBudgets;

/// Time of the threads that optimize pages and images (`optimize_budget`). At most two seconds are saved up; 100 ms are
/// reserved for each page or image in progress.
pub(super) static CORE_TIME: WorkBudgets = WorkBudgets::new(false, 2_000.0, 100.0);
