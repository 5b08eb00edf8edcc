//! Options of the optimizer.

use crate::{Exclusions, FilterSet, OptimizeLimits};

/// Start of the words with which the caller marks places of a page ([`OptimizeOptions::marker`]). A text of such words
/// may be part of the head of the page.
pub const PLACE_MARKER: &str = "myriadhole";

/// Options of the optimizer for one page.
#[derive(Clone, Debug)]
pub struct OptimizeOptions {
    /// Limits of the work.
    pub limits: OptimizeLimits,
    /// Filters that are applied. A filter that is off has no report.
    pub filters: FilterSet,
    /// URLs and elements that are left unchanged.
    pub exclude: Exclusions,
    /// Word that marks places of the page, which starts with [`PLACE_MARKER`]. Elements that contain the word remain in
    /// the page. `None` if no places are marked.
    pub marker: Option<String>,
}

impl Default for OptimizeOptions {
    /// Returns the safe filters without exclusions.
    fn default() -> Self {
        Self {
            limits: OptimizeLimits::default(),
            filters: FilterSet::safe(),
            exclude: Exclusions::default(),
            marker: None,
        }
    }
}
