//! MKCOL: creates a directory (RFC 4918 section 9.3).

use myriad_exchange::exchange::{Exchange, Step};
use myriad_files::as_path;
use rustix::fs::{Mode, mkdirat};

use super::answer;
use super::failure::{Done, Failure};
use super::settings::{Access, DavSettings};
use super::target::Target;

pub(super) fn begin(exchange: &mut Exchange, rules: &DavSettings) -> Step {
    let uri = exchange.request.route.uri.clone();
    if !uri.ends_with(b"/") {
        return Failure::new(409, "MKCOL can create a collection only").answer(&mut exchange.request);
    }
    let access = rules.access;
    match Target::of(exchange, &uri) {
        Ok(target) => answer::wait(vec![target.path.clone()], move || made(&target, access)),
        Err(failure) => failure.answer(&mut exchange.request),
    }
}

fn made(target: &Target, access: Access) -> Done {
    let place = target.place(409)?;
    match mkdirat(&place.folder, as_path(place.name), Mode::from_raw_mode(access.of_folder())) {
        Ok(()) => Ok(201),
        Err(error) => Err(Failure::of(&error.into(), 409, "mkdir()", &target.path)),
    }
}
