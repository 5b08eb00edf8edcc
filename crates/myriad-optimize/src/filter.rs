//! Names, sets and reports of filters.

use serde::{Serialize, Serializer};

/// Filters of the page optimizer, in the order of reports. They have the names of mod_pagespeed's filters if they do
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FilterName {
    /// Collapses white space in pages.
    CollapseWhitespace,
    /// Combines style sheets.
    CombineCss,
    /// Moves small style sheets into the page.
    InlineCss,
    /// Removes white space and comments from style sheets.
    RewriteCss,
    /// Removes white space and comments from scripts.
    RewriteJavascript,
    /// Adds `width` and `height` to images.
    InsertImageDimensions,
    /// Adds `loading="lazy"` to images after the first ones of a page, which are probably below the first screen.
    LazyloadImages,
    /// Adds `decoding="async"` to images after the first ones of a page (no filter of mod_pagespeed).
    DecodeImagesAsync,
    /// Adds preloads of the font of the page's text, and of the image that is probably the largest on the first screen.
    HintPreloadSubresources,
    /// Adds `fetchpriority="high"` to the image that is probably the largest (no filter of mod_pagespeed).
    PrioritizeLargestImage,
    /// Sends JPEG images as WebP to browsers that accept it.
    ConvertJpegToWebp,
    /// Sends PNG and GIF images as WebP without loss to browsers that accept it.
    ConvertToWebpLossless,
}

impl FilterName {
    /// All filters in the order of reports.
    pub const ALL: [Self; 12] = [
        Self::CollapseWhitespace,
        Self::CombineCss,
        Self::InlineCss,
        Self::RewriteCss,
        Self::RewriteJavascript,
        Self::InsertImageDimensions,
        Self::LazyloadImages,
        Self::DecodeImagesAsync,
        Self::HintPreloadSubresources,
        Self::PrioritizeLargestImage,
        Self::ConvertJpegToWebp,
        Self::ConvertToWebpLossless,
    ];

    /// Returns the filter called `name`, such as `combine_css`; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filter| filter.as_str() == name)
    }

    /// Returns the name of the filter in configurations and reports, such as `combine_css`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CollapseWhitespace => "collapse_whitespace",
            Self::CombineCss => "combine_css",
            Self::InlineCss => "inline_css",
            Self::RewriteCss => "rewrite_css",
            Self::RewriteJavascript => "rewrite_javascript",
            Self::InsertImageDimensions => "insert_image_dimensions",
            Self::LazyloadImages => "lazyload_images",
            Self::DecodeImagesAsync => "decode_images_async",
            Self::HintPreloadSubresources => "hint_preload_subresources",
            Self::PrioritizeLargestImage => "prioritize_largest_image",
            Self::ConvertJpegToWebp => "convert_jpeg_to_webp",
            Self::ConvertToWebpLossless => "convert_to_webp_lossless",
        }
    }
}

impl Serialize for FilterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Set of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterSet {
    /// One bit for each filter, in the order of [`FilterName`].
    bits: u32,
}

impl FilterSet {
    /// Returns the empty set.
    pub fn none() -> Self {
        Self { bits: 0 }
    }

    /// Returns the filters that do not noticeably change how a page looks and behaves: all filters.
    pub fn safe() -> Self {
        FilterName::ALL.into_iter().fold(Self::none(), Self::with)
    }

    /// Returns whether the set contains `filter`.
    pub fn contains(self, filter: FilterName) -> bool {
        self.bits & 1 << filter as u32 != 0
    }

    /// Returns the set with `filter` added.
    #[must_use]
    pub fn with(self, filter: FilterName) -> Self {
        Self { bits: self.bits | 1 << filter as u32 }
    }

    /// Returns the set with `filter` removed.
    #[must_use]
    pub fn without(self, filter: FilterName) -> Self {
        Self { bits: self.bits & !(1 << filter as u32) }
    }

    /// Returns whether the set contains at least one of `filters`.
    pub(crate) fn contains_any(self, filters: &[FilterName]) -> bool {
        filters.iter().any(|filter| self.contains(*filter))
    }

    /// Returns the set changed by a word: `+name` adds a filter, `-name` removes it. Returns an error text for an
    /// unknown filter and for a word without `+` or `-`.
    ///
    /// ```
    /// use myriad_optimize::{FilterName, FilterSet};
    /// let filters = FilterSet::safe().adjusted("-combine_css").expect("known");
    /// assert!(!filters.contains(FilterName::CombineCss) && filters.contains(FilterName::RewriteCss));
    /// assert!(filters.adjusted("+combine_ccs").is_err());
    /// ```
    pub fn adjusted(self, word: &str) -> Result<Self, String> {
        let (is_added, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => return Err(format!("\"{word}\" does not start with + or -; write +{word} or -{word}")),
        };
        let filter = FilterName::parse(name).ok_or_else(|| format!("unknown filter \"{name}\""))?;
        Ok(if is_added { self.with(filter) } else { self.without(filter) })
    }
}

/// Reason why a filter leaves something unchanged, as a text for administrators.
pub type SkipReason = String;

/// Part of a page that a filter leaves unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedSubject {
    /// URL of the part, or another description of it.
    pub subject: String,
    /// Reason why the filter leaves the part unchanged.
    pub reason: SkipReason,
}

/// Result of one filter for a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterReport {
    /// Filter that the report describes.
    pub filter: FilterName,
    /// Number of parts (files, images, pages) that the filter changes.
    pub changed: usize,
    /// Number of bytes that the filter saves, measured before compression.
    pub bytes_saved: u64,
    /// Number of requests that the filter saves.
    pub requests_saved: usize,
    /// Parts that the filter leaves unchanged, with the reasons. Parts that never change, such as files of other
    /// sites, may be omitted.
    pub skipped: Vec<SkippedSubject>,
}

impl FilterReport {
    /// Creates the report of a filter that changed nothing.
    pub fn new(filter: FilterName) -> Self {
        Self { filter, changed: 0, bytes_saved: 0, requests_saved: 0, skipped: Vec::new() }
    }

    /// Adds a changed part to the report, whose change saves `bytes` bytes.
    pub fn change(&mut self, bytes: usize) {
        self.changed += 1;
        self.bytes_saved += bytes as u64;
    }

    /// Adds an unchanged part to the report, called `subject`, with the reason.
    pub fn skip(&mut self, subject: impl Into<String>, reason: &impl ToString) {
        self.skipped.push(SkippedSubject { subject: subject.into(), reason: reason.to_string() });
    }
}

/// Returns whether a shorter file justifies another URL, which browsers have not cached: at least 512 bytes and a
/// tenth.
pub(crate) fn is_worthwhile(before: usize, after: usize) -> bool {
    let saved = before.saturating_sub(after);
    saved >= 512 && saved * 10 >= before
}

/// Returns a number with a noun, which has an `s` unless the number is 1.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_filters_have_a_name_and_a_place() {
        for (index, filter) in FilterName::ALL.into_iter().enumerate() {
            assert_eq!((filter as usize, FilterName::parse(filter.as_str())), (index, Some(filter)));
        }
    }

    #[test]
    fn words_change_a_set() {
        let only = FilterSet::none().adjusted("+lazyload_images").expect("known");
        let contained: Vec<_> = FilterName::ALL.into_iter().filter(|filter| only.contains(*filter)).collect();
        assert_eq!(contained, [FilterName::LazyloadImages]);
        assert_eq!(only.adjusted("-lazyload_images"), Ok(FilterSet::none()));
        for (word, part) in [
            ("+lazyload_image", "unknown filter \"lazyload_image\""),
            ("-Combine_css", "unknown filter \"Combine_css\""),
            ("combine_css", "+combine_css"),
            ("+", "unknown filter \"\""),
        ] {
            let error = FilterSet::safe().adjusted(word).expect_err(word);
            assert!(error.contains(part), "{error}");
        }
    }
}
