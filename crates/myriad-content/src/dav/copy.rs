//! COPY and MOVE (RFC 4918 sections 9.8 and 9.9).

use std::fs::File;
use std::io;

use myriad_exchange::exchange::{Exchange, PhaseStep, Request};
use myriad_files::{Draft, as_path};
use myriad_http::{Known, Method};
use rustix::fs::{AtFlags, renameat, unlinkat};
use rustix::io::Errno;

use super::answer::{self, Depth};
use super::delete::{is_folder, remove};
use super::destination::destination;
use super::ext::{self, LockZone};
use super::failure::{DavFailure, DavResult};
use super::settings::{DavAccess, DavSettings};
use super::target::{DavTarget, NameInFolder};
use super::tree::{self, CopyDepth};

/// COPY or MOVE of a request, with its parameters.
struct CopyRequest {
    source: DavTarget,
    destination: DavTarget,
    moves: bool,
    overwrites: bool,
    extent: CopyDepth,
    access: DavAccess,
}

pub(super) fn begin(exchange: &mut Exchange, rules: &DavSettings, zone: Option<LockZone>) -> PhaseStep {
    let request = &exchange.request;
    let moves = request.received.head.method() == Method::Move;
    let asked = destination(request).and_then(|uri| Ok((uri, extent(request, moves)?, overwrites(request)?)));
    let (uri, extent, overwrites) = match asked {
        Ok(asked) => asked,
        Err(failure) => return failure.into_step(&mut exchange.request),
    };
    let own = request.route.uri.clone();
    let targets = DavTarget::of(exchange, &own).and_then(|own| Ok((own, DavTarget::of(exchange, &uri)?)));
    let (source, destination) = match targets {
        Ok(targets) => targets,
        Err(failure) => return failure.into_step(&mut exchange.request),
    };
    let order = CopyRequest { source, destination, moves, overwrites, extent, access: rules.access };
    if let Err(failure) = order.check() {
        return failure.into_step(&mut exchange.request);
    }
    let changed = vec![order.source.path.clone(), order.destination.path.clone()];
    let at_ms = exchange.request.received.at_ms;
    answer::run_and_respond(changed, move || {
        let done = order.run()?;
        if moves {
            ext::forget(zone.as_ref(), at_ms, &order.source.path);
        }
        Ok(done)
    })
}

fn extent(request: &Request, moves: bool) -> DavResult<CopyDepth> {
    match answer::depth(request, Depth::Infinity)? {
        Depth::Infinity => Ok(CopyDepth::All),
        Depth::Zero if !moves => Ok(CopyDepth::FolderAlone),
        _ if moves => Err(DavFailure::new(400, "\"Depth\" header must be infinity")),
        _ => Err(DavFailure::new(400, "\"Depth\" header must be 0 or infinity")),
    }
}

/// Parses `Overwrite` (RFC 4918 section 10.6): true for `T` and without the field, false for `F`, ignoring case.
/// Returns 400 for other values.
fn overwrites(request: &Request) -> DavResult<bool> {
    match request.received.head.known(Known::Overwrite) {
        None | Some(b"T" | b"t") => Ok(true),
        Some(b"F" | b"f") => Ok(false),
        Some(value) => {
            let value = String::from_utf8_lossy(value);
            Err(DavFailure::new(400, format!("client sent invalid \"Overwrite\" header: \"{value}\"")))
        }
    }
}

impl CopyRequest {
    /// Returns 403 if source and destination are equal or one contains the other, or if the root would be replaced or
    /// moved.
    fn check(&self) -> DavResult<()> {
        let (source, destination) = (&self.source, &self.destination);
        let inside = |one: &DavTarget, other: &DavTarget| {
            one.path.strip_prefix(&*other.path).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        if inside(source, destination) || inside(destination, source) {
            return Err(self.failure_because(403, "one of the paths is inside the other"));
        }
        if destination.is_root || source.is_root && self.moves {
            return Err(self.failure_because(403, "the root must not be moved or replaced"));
        }
        Ok(())
    }

    fn failure_because(&self, status: u16, why: &str) -> DavFailure {
        let verb = if self.moves { "MOVE" } else { "COPY" };
        let [source, destination] =
            [&self.source, &self.destination].map(|target| String::from_utf8_lossy(&target.path));
        DavFailure::new(status, format!("{verb} \"{source}\" to \"{destination}\" failed: {why}"))
    }

    fn failed(&self, error: &io::Error) -> DavFailure {
        DavFailure::from_io_error(
            error,
            409,
            if self.moves { "MOVE to" } else { "COPY to" },
            &self.destination.path,
        )
    }

    fn run(&self) -> DavResult {
        let from = self.source.open_folder(404)?;
        let found = from.status()?.ok_or_else(|| self.failure_because(404, "not found"))?;
        let folder = is_folder(&found);
        if folder != self.source.is_collection {
            let status = if folder { 400 } else { 404 };
            return Err(self.failure_because(
                status,
                "the URI of a collection must end with a slash, that of a file must not",
            ));
        }
        let to = self.place_of_destination(folder)?;
        if let Some(there) = to.status()? {
            let is_folder = is_folder(&there);
            if is_folder && !self.destination.is_collection {
                return Err(self.failure_because(409, "the destination is a collection"));
            }
            if !self.overwrites {
                return Err(self.failure_because(412, "the destination exists, and \"Overwrite\" is \"F\""));
            }
            if folder || is_folder {
                remove(&to, is_folder, &self.destination.path)?;
            }
        }
        let done = if folder { self.folder(&from, &to) } else { self.file(&from, &to) };
        done.map_err(|error| self.failed(&error))?;
        Ok(if folder { 201 } else { 204 })
    }

    /// Opens the directory of the destination. As in nginx, missing directories are created if a file is moved.
    fn place_of_destination(&self, folder: bool) -> DavResult<NameInFolder<'_>> {
        if self.moves && !folder {
            self.destination.open_or_create_folder(self.access)
        } else {
            self.destination.open_folder(409)
        }
    }

    fn folder(&self, from: &NameInFolder<'_>, to: &NameInFolder<'_>) -> io::Result<()> {
        if self.moves && try_rename(from, to)? {
            return Ok(());
        }
        tree::copy((&from.folder, from.name), (&to.folder, to.name), self.extent)?;
        if self.moves { tree::remove(&from.folder, from.name) } else { Ok(()) }
    }

    fn file(&self, from: &NameInFolder<'_>, to: &NameInFolder<'_>) -> io::Result<()> {
        if self.moves && try_rename(from, to)? {
            return Ok(());
        }
        let mut source = tree::open_file(&from.folder, from.name, self.source.follows_links())?;
        copy_contents(&mut source, to)?;
        if self.moves {
            unlinkat(&from.folder, as_path(from.name), AtFlags::empty())?;
        }
        Ok(())
    }
}

/// Renames a file or directory; returns false if the destination is on another file system, which requires a copy.
fn try_rename(from: &NameInFolder<'_>, to: &NameInFolder<'_>) -> io::Result<bool> {
    match renameat(&from.folder, as_path(from.name), &to.folder, as_path(to.name)) {
        Ok(()) => Ok(true),
        Err(Errno::XDEV) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies the contents of a file, its permissions and its modification time. An existing file is replaced only after
/// the copy is complete.
fn copy_contents(source: &mut File, to: &NameInFolder<'_>) -> io::Result<()> {
    let found = rustix::fs::fstat(&*source)?;
    let mut draft = Draft::begin(&to.folder)?;
    io::copy(source, draft.file())?;
    draft.place(to.name, found.st_mode & 0o777, Some(tree::modified(&found)))
}
