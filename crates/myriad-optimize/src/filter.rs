//! Reports of filters.

use serde::Serialize;

/// Filters in the order of reports, with the names of mod_pagespeed where the meaning is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FilterName {
    /// Collapses white space in pages.
    CollapseWhitespace,
    /// Combines style sheets.
    CombineCss,
    /// Removes white space and comments from style sheets.
    RewriteCss,
    /// Removes white space and comments from scripts.
    RewriteJavascript,
    /// Adds `loading="lazy"` to images below the first screen.
    LazyloadImages,
    /// Adds `decoding="async"` to images that are loaded lazily (no filter of mod_pagespeed).
    DecodeImagesAsync,
    /// Adds `fetchpriority="high"` to the image that is probably the largest (no filter of mod_pagespeed).
    PrioritizeLargestImage,
}

impl FilterName {
    /// Returns the name as in configurations and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CollapseWhitespace => "collapse_whitespace",
            Self::CombineCss => "combine_css",
            Self::RewriteCss => "rewrite_css",
            Self::RewriteJavascript => "rewrite_javascript",
            Self::LazyloadImages => "lazyload_images",
            Self::DecodeImagesAsync => "decode_images_async",
            Self::PrioritizeLargestImage => "prioritize_largest_image",
        }
    }
}

/// Reason why a filter leaves something unchanged, as a text for administrators.
pub type SkipReason = String;

/// Part of a page that a filter leaves unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedSubject {
    /// URL, or another description.
    pub subject: String,
    /// Reason.
    pub reason: SkipReason,
}

/// Result of one filter for a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterReport {
    /// Filter.
    pub filter: FilterName,
    /// Number of parts (files, images, pages) that the filter changes.
    pub changed: usize,
    /// Bytes before compression that the filter saves.
    pub bytes_saved: u64,
    /// Requests that the filter saves.
    pub requests_saved: usize,
    /// Parts that are left unchanged for a reason that an administrator can influence.
    pub skipped: Vec<SkippedSubject>,
}

impl FilterReport {
    /// Creates the report of a filter that changed nothing.
    pub fn new(filter: FilterName) -> Self {
        Self { filter, changed: 0, bytes_saved: 0, requests_saved: 0, skipped: Vec::new() }
    }

    /// Counts a change that saves `bytes`.
    pub fn change(&mut self, bytes: usize) {
        self.changed += 1;
        self.bytes_saved += bytes as u64;
    }

    /// Records why a part is left unchanged.
    pub fn skip(&mut self, subject: impl Into<String>, reason: &impl ToString) {
        self.skipped.push(SkippedSubject { subject: subject.into(), reason: reason.to_string() });
    }
}
