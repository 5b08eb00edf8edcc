//! Precompressed files: `gzip_static`, `brotli_static`, `zstd_static`.

use std::sync::Arc;

use myriad_encode::Coding;
use myriad_files::PathEntry;
use myriad_script::Frame;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::paths::look_up;
use myriad_store::page::ProxiedFacts;

/// Result of the lookup of precompressed files.
#[derive(Default)]
pub(super) struct PrecompressedFile {
    /// First existing file, in order of preference, in a coding that the client accepts, or in any coding enabled by
    /// `always`; `None` to send the uncompressed file. If the request selected the compressed copy of a page:
    /// `FILE.gz`, even if it does not exist.
    pub file: Option<(Arc<PathEntry>, Coding)>,
    /// Set if the choice of the file depends on the codings that the client accepts, so that the response needs `Vary`.
    pub varies: bool,
}

/// Looks for `FILE.br`, `FILE.zst` and `FILE.gz`, as far as they are enabled for the location; `path` is the path of
/// `FILE`. If one is found that may be sent to this client, `path` becomes its path. The uncompressed file need not
/// exist, as in nginx.
///
/// If the request selected the compressed copy of a page, the result is always `FILE.gz`, even if it does not exist.
pub(super) fn find(request: &Request, frame: &mut Frame, path: &mut Vec<u8>) -> PrecompressedFile {
    let place = request.place();
    let mut packed = PrecompressedFile::default();
    if request.route.form.packed {
        path.extend_from_slice(extension(Coding::Gzip));
        packed.file = Some((look_up(request, frame, path), Coding::Gzip));
        packed.varies = true;
        return packed;
    }
    if place.files.precompressed.is_empty() {
        return packed;
    }
    let accepted = myriad_output::accepted(request, ProxiedFacts::default());
    let bare = path.len();
    for (coding, always) in &place.files.precompressed {
        let taken = *always || accepted.contains(*coding);
        // A file that this client does not accept matters only for `Vary`.
        if !taken && !place.offer.vary {
            continue;
        }
        path.extend_from_slice(extension(*coding));
        let entry = look_up(request, frame, path);
        if entry.file().is_some() {
            packed.varies |= !always;
            if taken {
                packed.file = Some((entry, *coding));
                return packed;
            }
        }
        path.truncate(bare);
    }
    packed
}

fn extension(coding: Coding) -> &'static [u8] {
    match coding {
        Coding::Identity => b"",
        Coding::Gzip => b".gz",
        Coding::Brotli => b".br",
        Coding::Zstd => b".zst",
    }
}
