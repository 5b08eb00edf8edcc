//! Attributes that order the loading of images (`lazyload_images`, `decode_images_async`, `prioritize_largest_image`).

use std::ops::Range;

use crate::exclude::EXCLUDED;
use crate::filter::{FilterName, FilterReport};
use crate::html::{HtmlKind, HtmlTag, HtmlToken, PageScan};
use crate::{OptimizeOptions, PageUrl};

/// Number of images at the start of a page that may be on the first screen, and are not loaded lazily.
pub(crate) const FIRST_IMAGES: usize = 3;
/// Area in pixels from which an image may be the largest part of the first screen.
const LARGE: u64 = 60_000;
/// Side in pixels below which an image is decoration: it does not count as one of the first.
const SMALL: u32 = 64;
/// Names in scripts that wait for all images of an element.
const WAITING: [&str; 3] = ["imagesLoaded", "imagesloaded", "masonry"];

/// Tags with new attributes, and the reports of the filters.
#[derive(Clone, Debug)]
pub(crate) struct ImageChanges {
    /// New texts for ranges of the page, in their order.
    pub(crate) edits: Vec<(Range<usize>, String)>,
    /// Reports of `lazyload_images`, `decode_images_async` and `prioritize_largest_image`, even of those that are off.
    pub(crate) reports: Vec<FilterReport>,
    /// Index in [`PageScan::images`] of the image that the page marks as the most important, otherwise of the one that
    /// is probably the largest on the first screen; `None` if neither is known.
    pub(crate) largest: Option<usize>,
}

/// Images of a page, with the data that the filters read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageImages<'a> {
    pub(crate) tokens: &'a [HtmlToken<'a>],
    pub(crate) scan: &'a PageScan,
    /// Texts of the scripts of the page, as far as they are readable.
    pub(crate) scripts: &'a [&'a str],
    /// For each token, true if it is part of an excluded element.
    pub(crate) is_excluded: &'a [bool],
}

/// Adds attributes to images: a high priority to the largest one, and lazy loading and asynchronous decoding to images
/// after the first ones. No attribute of a tag is replaced, and excluded images and tags with `fetchpriority` do not
/// change. Lazy loading requires `width` and `height`, so that no content moves. `size_of` returns the real size of an
/// image, for tags without one.
pub(crate) fn order_loading(
    images: &PageImages<'_>,
    size_of: &dyn Fn(&PageUrl) -> Option<(u32, u32)>,
    options: &OptimizeOptions,
) -> ImageChanges {
    let is_on = |filter| options.filters.contains(filter);
    let mut lazy = FilterReport::new(FilterName::LazyloadImages);
    let mut decoded = FilterReport::new(FilterName::DecodeImagesAsync);
    let mut prioritized = FilterReport::new(FilterName::PrioritizeLargestImage);
    let waiting = WAITING.iter().find(|name| images.scripts.iter().any(|script| script.contains(**name)));
    let marked = images.scan.images.iter().position(|image| {
        matches!(&images.tokens[image.token].kind, HtmlKind::Start(tag) if tag.has_word("fetchpriority", "high"))
    });
    let largest = if marked.is_some() { None } else { largest_of_first(images.scan, size_of) };
    let mut edits = Vec::new();
    let mut first = 0;
    for (index, image) in images.scan.images.iter().enumerate() {
        let HtmlKind::Start(tag) = &images.tokens[image.token].kind else { continue };
        let size = image.size.or_else(|| size_of(image.url.as_ref()?));
        let is_early = first < FIRST_IMAGES;
        first += usize::from(size.is_none_or(|(width, height)| width.min(height) >= SMALL));
        let mut added = String::new();
        let name = image.url.as_ref().map_or_else(|| format!("image {}", index + 1), PageUrl::to_string);
        let is_left = images.is_excluded[image.token]
            || image.url.as_ref().is_some_and(|url| options.exclude.covers_url(url));
        if Some(index) == largest {
            if is_left {
                prioritized.skip(name, &EXCLUDED);
            } else if tag.has("fetchpriority") || tag.has_word("loading", "lazy") {
                prioritized.skip(name, &"the tag has loading=\"lazy\" or fetchpriority");
            } else if is_on(FilterName::PrioritizeLargestImage) {
                added.push_str(" fetchpriority=\"high\"");
                prioritized.change(0);
            }
        } else if !is_early && is_left {
            lazy.skip(name, &EXCLUDED);
        } else if !is_early && !tag.has("fetchpriority") && !is_sensitive(tag) {
            let reason = waiting.map(|name| format!("a script uses {name}, which waits for all images"));
            let reason =
                reason.or_else(|| image.size.is_none().then(|| "the tag has no width and height".to_owned()));
            match reason {
                _ if tag.has("loading") || !is_on(FilterName::LazyloadImages) => {}
                Some(reason) => lazy.skip(name, &reason),
                None => {
                    added.push_str(" loading=\"lazy\"");
                    lazy.change(0);
                }
            }
            if !tag.has("decoding") && is_on(FilterName::DecodeImagesAsync) {
                added.push_str(" decoding=\"async\"");
                decoded.change(0);
            }
        }
        if !added.is_empty() {
            // After the name of the tag, where no unquoted value can include the text.
            let at = images.tokens[image.token].range.start + 1 + tag.name.len();
            edits.push((at..at, added));
        }
    }
    ImageChanges { edits, reports: vec![lazy, decoded, prioritized], largest: marked.or(largest) }
}

/// Returns whether a script may manage the loading of an image, or the image is an image map.
pub(crate) fn is_sensitive(tag: &HtmlTag<'_>) -> bool {
    tag.attributes.iter().any(|attribute| {
        let name = attribute.name.to_ascii_lowercase();
        name.starts_with("data-") && name.contains("src") || name.starts_with("on") || name == "usemap"
    })
}

/// Returns the index of the image that is probably the largest on the first screen; `None` if no image there is known
/// to have an area of at least [`LARGE`].
fn largest_of_first(scan: &PageScan, size_of: &dyn Fn(&PageUrl) -> Option<(u32, u32)>) -> Option<usize> {
    let area = |image: &crate::html::ScannedImage| {
        let size = image.size.or_else(|| size_of(image.url.as_ref()?));
        size.map_or(0, |(width, height)| u64::from(width) * u64::from(height))
    };
    let first = scan
        .images
        .iter()
        .enumerate()
        .filter(|(_, image)| area(image) >= u64::from(SMALL * SMALL))
        .take(FIRST_IMAGES);
    // Of equal images, the first.
    let (index, image) = first.max_by_key(|(index, image)| (area(image), usize::MAX - index))?;
    (area(image) >= LARGE).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimizeLimits;
    use crate::html::{scan, tokenize};

    /// Returns the page with its changes, and these.
    fn ordered(page: &str, scripts: &[&str]) -> (String, ImageChanges) {
        let tokens = tokenize(page, &OptimizeLimits::default()).expect("unambiguous");
        let url = PageUrl::parse("http://a.test/").expect("absolute");
        let scan = scan(page, &tokens, &url);
        let size_of = |url: &PageUrl| (url.path() == "/real.png").then_some((800, 600));
        let options = OptimizeOptions::default();
        let is_excluded = options.exclude.tokens(&tokens);
        let images = PageImages { tokens: &tokens, scan: &scan, scripts, is_excluded: &is_excluded };
        let changes = order_loading(&images, &size_of, &options);
        (crate::edit::edited(page, &changes.edits), changes)
    }

    #[test]
    fn later_images_are_lazy_and_the_largest_is_first() {
        let page = "<img src=/logo.png width=40 height=40><img src=a width=300 height=100><img src=/real.png>\
                    <img src=b width=300 height=300><img src=c width=9 height=9><img src=d><img src=e loading=eager width=1 height=1>\
                    <img src=f width=99 height=99 data-src=x>";
        let (page, changes) = ordered(page, &[]);
        assert_eq!(
            page,
            "<img src=/logo.png width=40 height=40><img src=a width=300 height=100><img fetchpriority=\"high\" src=/real.png>\
             <img src=b width=300 height=300><img loading=\"lazy\" decoding=\"async\" src=c width=9 height=9><img decoding=\"async\" src=d>\
             <img decoding=\"async\" src=e loading=eager width=1 height=1><img src=f width=99 height=99 data-src=x>"
        );
        let counts: Vec<_> =
            changes.reports.iter().map(|report| (report.changed, report.skipped.len())).collect();
        assert_eq!(counts, [(1, 1), (3, 0), (1, 0)]);
    }

    #[test]
    fn decisions_of_the_page_and_of_scripts_are_respected() {
        let page = "<img width=300 height=300><img width=300 height=300 fetchpriority=high>".to_owned()
            + &"<img width=300 height=300>".repeat(3);
        let (page, changes) = ordered(&page, &["$grid.imagesLoaded(x)"]);
        assert!(!page.contains("fetchpriority=\"high\"") && !page.contains("lazy"), "{}", page);
        assert!(changes.reports[0].skipped[0].reason.contains("imagesLoaded"), "{changes:?}");
    }
}
