//! MKCOL: creates a directory (RFC 4918 section 9.3).

use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_files::as_path;
use rustix::fs::{Mode, mkdirat};

use super::answer;
use super::failure::{DavFailure, DavResult};
use super::settings::{DavAccess, DavSettings};
use super::target::DavTarget;

pub(super) fn begin(exchange: &mut Exchange, rules: &DavSettings) -> PhaseStep {
    let uri = exchange.request.route.uri.clone();
    if !uri.ends_with(b"/") {
        return DavFailure::new(409, "MKCOL can create a collection only").into_step(&mut exchange.request);
    }
    let access = rules.access;
    match DavTarget::of(exchange, &uri) {
        Ok(target) => {
            answer::run_and_respond(vec![target.path.clone()], move || create_collection(&target, access))
        }
        Err(failure) => failure.into_step(&mut exchange.request),
    }
}

fn create_collection(target: &DavTarget, access: DavAccess) -> DavResult {
    let place = target.open_folder(409)?;
    match mkdirat(&place.folder, as_path(place.name), Mode::from_raw_mode(access.folder_mode())) {
        Ok(()) => Ok(201),
        Err(error) => Err(DavFailure::from_io_error(&error.into(), 409, "mkdir()", &target.path)),
    }
}
