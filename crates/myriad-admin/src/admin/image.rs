//! Lookup of the WebP copy of an image by its URL.

use myriad_http::lines::line_named;
use myriad_net::clock::now_ms;
use myriad_policy::{PurgeSubject, PurgeTarget};
use myriad_store::page::PageZone;
use myriad_store::page::key::{IMAGE, ORIGINAL_LENGTH};

use super::administrator::{Administrator, ReplyResult, ReplySink};
use super::describe::FoundPage;
use super::show::pages_of_url;
use crate::protocol::{AdminReply, ImageCopyReport, ImageCopyRequest, ReplyEnd, escape_bytes};

impl Administrator {
    /// Reports the WebP copy of the image at the requested URL, or why there is none, for each zone that has a record
    /// of the image. Reports nothing for an invalid URL.
    pub(super) fn image(&self, request: &ImageCopyRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let Some(PurgeTarget::Url { host, target }) = PurgeTarget::url(request.url.as_bytes()) else {
            return Ok(ReplyEnd::default());
        };
        let image = PurgeSubject { query: None, ..PurgeSubject::new(b"", &host, &target) };
        for zone in self.zones_named(None)? {
            let Some(report) = report(zone, &image) else { continue };
            let report = ImageCopyReport {
                zone: zone.zone.name().to_owned(),
                url: escape_bytes(request.url.as_bytes()),
                ..report
            };
            if !tell(AdminReply::Image(Box::new(report))) {
                break;
            }
        }
        Ok(ReplyEnd::default())
    }
}

/// Returns what the zone knows about the last version of an image: its copy, or the reason why it has none; `None` if
/// it knows neither.
fn report(zone: &PageZone, image: &PurgeSubject<'_>) -> Option<ImageCopyReport> {
    let copies = pages_of_url(zone, image).into_iter().filter(|found| found.key().starts_with(IMAGE));
    let copy = copies.max_by_key(FoundPage::stored_at);
    let made_at = copy.as_ref().map(FoundPage::stored_at);
    let uncopied = zone.uncopied_images.of_path(image.path_label());
    if let Some(uncopied) = uncopied.filter(|uncopied| made_at.is_none_or(|at| at < uncopied.at_ms)) {
        return Some(ImageCopyReport {
            original_bytes: uncopied.bytes,
            reason: Some(uncopied.reason),
            retry_after_ms: uncopied.retry_at_ms.map(|at| at.saturating_sub(now_ms())),
            ..ImageCopyReport::default()
        });
    }
    let copy = copy?;
    let length = line_named(copy.meta().unsent(), ORIGINAL_LENGTH.to_ascii_lowercase().as_bytes());
    let original_bytes = length.and_then(|length| str::from_utf8(length).ok()?.trim().parse().ok());
    Some(ImageCopyReport {
        original_bytes: original_bytes.unwrap_or_default(),
        copy_bytes: Some(copy.body_bytes()),
        ..ImageCopyReport::default()
    })
}
