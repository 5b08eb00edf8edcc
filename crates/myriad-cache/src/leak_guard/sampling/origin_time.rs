//! Budget of the time that origins spend on sampled verifications.

use crate::work_budget::WorkBudgets;

/// Time that origins spend on sampled verifications (`leak_guard budget=`). At most ten seconds are saved up; one
/// second is reserved for each verification in progress.
pub(super) static ORIGIN_TIME: WorkBudgets = WorkBudgets::new(true, 10_000.0, 1_000.0);
