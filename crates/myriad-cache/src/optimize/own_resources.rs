//! Resources of a page, read from this server as by an anonymous client.

use myriad_encode::Coding;
use myriad_exchange::exchange::{Exchange, ResponseSource};
use myriad_exchange::subrequest::SubrequestResponse;
use myriad_http::lines::line_named;
use myriad_optimize::{OptimizeOptions, PageResource, PageResources, PageUrl, needed_resources};
use myriad_policy::EntityTag;
use myriad_store::page::FileVersion;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::own_files::{is_restricted, read_body, request_file};

/// Maximum number of resources that are read for a page.
const MAX_RESOURCES: usize = 120;
/// Maximum total length of the resources of a page, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Maximum length in bytes of an image that is read, to find its size in pixels. A longer image is not read.
const MAX_IMAGE: u64 = 512 << 10;
/// Maximum length in bytes of a resource that is read and is not an image.
const MAX_TEXT: u64 = 4 << 20;
/// Maximum number of rounds in which resources are read: in the first round those of the page, then those that the
/// resources of the previous round refer to.
const MAX_ROUNDS: usize = 4;

/// Resources of a page with the versions of all files that were requested.
pub(super) struct OwnResources {
    /// Resources that could be read.
    pub resources: PageResources,
    /// Versions of all requested files; 0 for a file that could not be read.
    pub files: Vec<FileVersion>,
}

/// Reads the resources that the optimizer needs. Returns an error text if there are more than [`MAX_RESOURCES`], or if
/// they are longer than [`MAX_BYTES`] in total.
pub(super) async fn read_all(
    exchange: &mut Exchange,
    page: &PageResource,
    options: &OptimizeOptions,
) -> Result<OwnResources, &'static str> {
    let mut own = OwnResources { resources: PageResources::new(), files: Vec::new() };
    let mut bytes = 0;
    for _ in 0..MAX_ROUNDS {
        let mut needed = needed_resources(page, &own.resources, options);
        needed.retain(|url| !own.files.iter().any(|file| *file.target == *url.path_and_query().as_bytes()));
        if needed.is_empty() {
            break;
        }
        if own.files.len() + needed.len() > MAX_RESOURCES {
            return Err("the page has too many style sheets, scripts and images");
        }
        for url in needed {
            let target = url.path_and_query().into_bytes();
            let (version, resource) = read(exchange, &url, &target).await;
            own.files.push(FileVersion { target: target.into(), version });
            if let Some(resource) = resource {
                bytes += resource.body.len();
                own.resources.insert(url, resource);
            }
            if bytes > MAX_BYTES {
                return Err("style sheets, scripts and images of the page are longer than 16 MB");
            }
        }
    }
    Ok(own)
}

/// Returns the version of a file of this server; 0 if there is none that an anonymous client may read. `None` if it is
/// not known: the request for the file cannot be made, or the file is a page of an origin that is not stored at the
/// moment.
pub(super) async fn version(exchange: &mut Exchange, target: &[u8]) -> Option<u64> {
    let mut answer = request_file(exchange, target).await?;
    if answer.response.status >= 500 {
        return None;
    }
    Some(version_of(&mut answer).unwrap_or(0))
}

async fn read(exchange: &mut Exchange, url: &PageUrl, target: &[u8]) -> (u64, Option<PageResource>) {
    let Some(mut answer) = request_file(exchange, target).await else { return (0, None) };
    let Some(version) = version_of(&mut answer) else { return (0, None) };
    let content_type = answer.response.media_type().unwrap_or_default();
    let content_type = String::from_utf8_lossy(content_type).into_owned();
    let is_image = answer.response.bare_media_type().starts_with(b"image/");
    let max = if is_image { MAX_IMAGE } else { MAX_TEXT };
    if answer.response.known_length().is_none_or(|length| length > max) {
        return (version, None);
    }
    let Some(body) = read_body(answer, max).await else { return (version, None) };
    (version, Some(PageResource::new(url.clone(), &content_type, body)))
}

/// Returns a hash of the numbers that identify the version of a file; never 0.
pub(super) fn file_version(identity: [u64; 7]) -> u64 {
    let mut hash = Xxh3Default::new();
    for part in identity {
        hash.update(&part.to_le_bytes());
    }
    hash.digest().max(1)
}

/// Returns a hash that differs between versions of a response; `None` if it is not an uncompressed file or stored page that
/// any client may get.
fn version_of(answer: &mut SubrequestResponse) -> Option<u64> {
    let response = &answer.response;
    // A page is no resource; it may be the optimized page itself, as in `<img src="">`.
    let is_page = response.bare_media_type().eq_ignore_ascii_case(b"text/html");
    if response.status != 200 || response.coding != Coding::Identity || is_page || is_restricted(answer) {
        return None;
    }
    match &answer.response.source {
        ResponseSource::File(entry) => Some(file_version(entry.file()?.identity_parts())),
        ResponseSource::Page(page) => {
            let meta = page.meta();
            if line_named(meta.lines(), b"content-encoding").is_some() {
                return None;
            }
            let version = match meta.facts.tag.as_ref()? {
                EntityTag::Generated(hash) => *hash,
                EntityTag::Origin { opaque, .. } => xxh3_64(opaque),
            };
            Some(version.max(1))
        }
        ResponseSource::Plain => None,
    }
}
