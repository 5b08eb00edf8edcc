//! Files that were compressed beforehand: `gzip_static`, `brotli_static`, `zstd_static`.

use std::sync::Arc;

use myriad_encode::Coding;
use myriad_script::Frame;

use crate::exchange::Request;
use crate::files::{Entry, look};
use crate::output;
use crate::runtime::ProxiedFacts;

/// The best `FILE.br`, `FILE.zst` or `FILE.gz` that is there and that the client takes; `path` then names it. The file
/// itself need not be there, as in nginx.
pub(crate) fn find(request: &Request, frame: &mut Frame, path: &mut Vec<u8>) -> Option<(Arc<Entry>, Coding)> {
    if request.packed {
        path.extend_from_slice(extension(Coding::Gzip));
        return Some((look(request, frame, path), Coding::Gzip));
    }
    let places = &request.place().files.precompressed;
    if places.is_empty() {
        return None;
    }
    let accepted = output::accepted(request, ProxiedFacts::default());
    let bare = path.len();
    for (coding, always) in places {
        if !always && !accepted.contains(*coding) {
            continue;
        }
        path.extend_from_slice(extension(*coding));
        let entry = look(request, frame, path);
        if entry.file().is_some() {
            return Some((entry, *coding));
        }
        path.truncate(bare);
    }
    None
}

fn extension(coding: Coding) -> &'static [u8] {
    match coding {
        Coding::Identity => b"",
        Coding::Gzip => b".gz",
        Coding::Brotli => b".br",
        Coding::Zstd => b".zst",
    }
}
