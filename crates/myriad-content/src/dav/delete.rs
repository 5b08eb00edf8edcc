//! DELETE: removes a file, or a directory with its contents (RFC 4918 section 9.6).

use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_files::as_path;
use rustix::fs::{AtFlags, FileType, Stat, unlinkat};

use super::answer::{self, Depth};
use super::ext::{self, LockZone};
use super::failure::{DavFailure, DavResult};
use super::settings::DavSettings;
use super::target::{DavTarget, NameInFolder};
use super::tree;

pub(super) fn begin(exchange: &mut Exchange, rules: &DavSettings, zone: Option<LockZone>) -> PhaseStep {
    let uri = exchange.request.route.uri.clone();
    if let Some(depth) = too_shallow(&uri, rules.min_delete_depth) {
        let text = format!("insufficient URI depth:{depth} to DELETE");
        return DavFailure::new(409, text).into_step(&mut exchange.request);
    }
    let target = match DavTarget::of(exchange, &uri) {
        Ok(target) => target,
        Err(failure) => return failure.into_step(&mut exchange.request),
    };
    let request = &exchange.request;
    if target.is_root {
        return DavFailure::new(403, "the root must not be deleted").into_step(&mut exchange.request);
    }
    // The default of `Depth` depends on whether the resource is a directory, which is not known yet.
    let depths = answer::depth(request, Depth::Infinity).and_then(|of_folder| {
        let of_file = answer::depth(request, Depth::Zero)?;
        Ok((of_folder, of_file))
    });
    let at_ms = request.received.at_ms;
    answer::run_and_respond(vec![target.path.clone()], move || {
        let done = delete_target(&target, depths)?;
        ext::forget(zone.as_ref(), at_ms, &target.path);
        Ok(done)
    })
}

/// Returns the number of slashes of a URI that is not deep enough for DELETE (`min_delete_depth`), otherwise `None`. As
/// in nginx, a URI is deep enough if other characters follow its slash number `least`; 0 permits every URI.
fn too_shallow(uri: &[u8], least: u64) -> Option<u64> {
    if least == 0 {
        return None;
    }
    let mut depth = 0;
    for (at, _) in uri.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        depth += 1;
        if depth >= least && at + 1 < uri.len() {
            return None;
        }
    }
    Some(depth)
}

fn delete_target(target: &DavTarget, depths: DavResult<(Depth, Depth)>) -> DavResult {
    let place = target.open_folder(404)?;
    let shown = || String::from_utf8_lossy(&target.path);
    let Some(found) = place.status()? else {
        return Err(DavFailure::new(404, format!("DELETE \"{}\" failed (not found)", shown())));
    };
    let is_folder = is_folder(&found);
    if is_folder != target.is_collection {
        return Err(DavFailure::new(409, format!("DELETE \"{}\" failed", shown())));
    }
    let (of_folder, of_file) = depths?;
    if is_folder && of_folder != Depth::Infinity {
        return Err(DavFailure::new(400, "\"Depth\" header must be infinity"));
    }
    if !is_folder && of_file == Depth::One {
        return Err(DavFailure::new(400, "\"Depth\" header must be 0 or infinity"));
    }
    remove(&place, is_folder, &target.path)?;
    Ok(204)
}

pub(super) fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode).is_dir()
}

/// Removes a directory with its contents, or a file. A symbolic link itself is removed, not its target.
pub(super) fn remove(place: &NameInFolder<'_>, is_folder: bool, path: &[u8]) -> DavResult<()> {
    let removed = if is_folder {
        tree::remove(&place.folder, place.name)
    } else {
        unlinkat(&place.folder, as_path(place.name), AtFlags::empty()).map_err(Into::into)
    };
    removed.map_err(|error| DavFailure::from_io_error(&error, 404, "DELETE", path))
}

#[cfg(test)]
mod tests {
    use super::too_shallow;

    #[test]
    fn depth_counts_slashes_followed_by_a_segment() {
        assert_eq!(too_shallow(b"/a", 0), None);
        assert_eq!(too_shallow(b"/min3/shallow", 3), Some(2));
        assert_eq!(too_shallow(b"/min3/a/", 3), Some(3));
        assert_eq!(too_shallow(b"/min3/a/b", 3), None);
        assert_eq!(too_shallow(b"/", 1), Some(1));
    }
}
