//! Options of the optimizer.

use crate::{Exclusions, FilterSet, OptimizeLimits};

/// Start of the words by which the caller marks positions of a page ([`OptimizeOptions::marker`]). A text that consists
/// of these words may be part of the head of the page.
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
    /// Word, starting with [`PLACE_MARKER`], by which the caller marks positions of the page. Elements that contain the
    /// word remain in the page. `None` if no positions are marked.
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
