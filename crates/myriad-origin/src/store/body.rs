//! Response body that is sent to the client and written to a file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_base::calendar::parse_http_date;
use myriad_conf::registry::folder_permissions;
use myriad_exchange::exchange::{ErrorLogContext, Exchange};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::PlaceId;
use myriad_files::{Draft, PathResolution, split};
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_http::{Known, ResponseHead};
use myriad_log::LogLevel;
use myriad_upstream::Attempts;
use rustix::fs::Timespec;
use tokio::task::{JoinHandle, spawn_blocking};

/// Minimum size in bytes of a write to the stored file, except for the last write.
const MIN_WRITE: usize = 64 << 10;
/// Number of bytes waiting to be written to the file at which the origin is not read further.
const MAX_UNWRITTEN: usize = 1 << 20;

/// Maximum number of directories created for a stored file.
const MAX_FOLDERS: usize = 64;

/// Response body that is written to a file while it is read (`*_store`). The client receives the end of the body only
/// after the file was renamed, so that it then finds the file; the last piece is delayed as well if it can be
/// recognized as the last.
pub(super) struct StoringBody {
    body: BoxBody,
    state: State,
    /// Data that was read from the origin and is not written to the file yet.
    unwritten: Vec<Bytes>,
    /// Total size of `unwritten` in bytes.
    unwritten_bytes: usize,
    /// Last piece of the body, not sent to the client before the file is complete; `None` if the piece is not read yet
    /// or was sent.
    last: Option<Bytes>,
    /// True once the body is read completely.
    is_complete: bool,
    plan: FilePlan,
    report: StoreErrorLog,
    /// Attempts of the request, which report a fatal error of the application at the end of the body.
    attempts: Attempts,
}

/// State of the file to which the response is written.
enum State {
    /// The temporary file is open and waits for more data.
    Ready(Draft),
    /// The file is being created or written by another thread.
    Busy(JoinHandle<io::Result<Draft>>),
    /// The complete file is being renamed to its path.
    Placed(JoinHandle<io::Result<()>>),
    /// The file was renamed, or was abandoned after an error.
    Over,
}

/// Path and attributes of the file to which the response is stored.
#[derive(Clone)]
struct FilePlan {
    path: Rc<Path>,
    /// Permissions of the file.
    mode: u32,
    /// `Last-Modified` of the response; `None` if it has none or an invalid one.
    modified: Option<Timespec>,
}

/// Data of the request for error log entries about the stored file.
struct StoreErrorLog {
    site: Rc<Generation>,
    place: PlaceId,
    connection: u64,
    account: ErrorLogContext,
}

impl StoreErrorLog {
    fn log_error(&self, path: &Path, error: &io::Error) {
        let log = &self.site.runtime.place(self.place).logs.errors;
        let (who, host) = (self.account.client_text(), self.account.referrer_text());
        let path = path.display();
        log.write(
            LogLevel::Crit,
            Some(self.connection),
            format_args!("the response is not stored as \"{path}\": {error}{who}{host}"),
        );
    }
}

impl StoringBody {
    /// Wraps `body` and starts to create the temporary file and the parent directories.
    pub(super) fn new(
        exchange: &Exchange,
        head: &ResponseHead,
        (path, walk): (PathBuf, PathResolution),
        mode: u32,
        body: BoxBody,
    ) -> Self {
        let request = &exchange.request;
        let date = head.known(Known::LastModified);
        let date = date.and_then(|date| parse_http_date(date, request.received.at_ms / 1000));
        let modified = date.and_then(|date| i64::try_from(date).ok());
        let modified = modified.map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 });
        let plan = FilePlan { path: path.as_path().into(), mode, modified };
        let report = StoreErrorLog {
            site: Rc::clone(&request.site),
            place: request.route.place,
            connection: request.received.connection.id,
            account: request.error_log_context(),
        };
        let state = State::Busy(spawn_blocking(move || create_draft(&path, walk, mode)));
        let attempts = request.origin.as_ref().map(|facts| facts.attempts.clone()).unwrap_or_default();
        Self {
            body,
            state,
            unwritten: Vec::new(),
            unwritten_bytes: 0,
            last: None,
            is_complete: false,
            plan,
            report,
            attempts,
        }
    }

    /// Abandons the file after an error, which is logged; the client still gets the response.
    fn fail(&mut self, error: &io::Error) {
        self.report.log_error(&self.plan.path, error);
        self.give_up();
    }

    fn give_up(&mut self) {
        self.state = State::Over;
        self.unwritten = Vec::new();
        self.unwritten_bytes = 0;
    }

    /// Continues to create, write or rename the file. Returns ready if the file waits for more data, is complete or was
    /// abandoned.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Poll::Ready(()),
                State::Busy(mut work) => match Pin::new(&mut work).poll(cx) {
                    Poll::Pending => {
                        self.state = State::Busy(work);
                        return Poll::Pending;
                    }
                    Poll::Ready(done) => match flat(done) {
                        Ok(draft) => State::Ready(draft),
                        Err(error) => {
                            self.fail(&error);
                            return Poll::Ready(());
                        }
                    },
                },
                State::Ready(draft)
                    if self.unwritten_bytes >= MIN_WRITE || self.is_complete && self.unwritten_bytes > 0 =>
                {
                    self.unwritten_bytes = 0;
                    let pieces = std::mem::take(&mut self.unwritten);
                    State::Busy(spawn_blocking(move || write_pieces(draft, &pieces)))
                }
                State::Ready(draft) if self.is_complete => {
                    let FilePlan { path, mode, modified } = self.plan.clone();
                    let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
                    State::Placed(spawn_blocking(move || draft.place(&name, mode, modified)))
                }
                State::Ready(draft) => {
                    self.state = State::Ready(draft);
                    return Poll::Ready(());
                }
                State::Placed(mut work) => match Pin::new(&mut work).poll(cx) {
                    Poll::Pending => {
                        self.state = State::Placed(work);
                        return Poll::Pending;
                    }
                    Poll::Ready(done) => match flat(done) {
                        Ok(()) => {
                            let path = self.plan.path.as_os_str().as_encoded_bytes();
                            self.report.site.worker.files.forget_below(path);
                            State::Over
                        }
                        Err(error) => {
                            self.fail(&error);
                            return Poll::Ready(());
                        }
                    },
                },
            };
        }
    }
}

impl Body for StoringBody {
    fn poll_data(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = self.get_mut();
        loop {
            let advanced = this.advance(cx);
            if this.is_complete {
                return advanced.map(|()| this.last.take().map(Ok));
            }
            if advanced.is_pending() && this.unwritten_bytes >= MAX_UNWRITTEN {
                return Poll::Pending;
            }
            match ready!(this.body.as_mut().poll_data(cx)) {
                Some(Ok(piece)) => {
                    if !matches!(this.state, State::Over) {
                        this.unwritten_bytes += piece.len();
                        this.unwritten.push(piece.clone());
                    }
                    if this.body.size_hint() == Some(0) && this.last.is_none() {
                        this.last = Some(piece);
                        continue;
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                None => {
                    this.is_complete = true;
                    if this.attempts.had_fatal_error() {
                        this.give_up();
                    }
                }
                Some(Err(error)) => {
                    this.give_up();
                    this.last = None;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        let last = self.last.as_ref().map_or(0, Bytes::len) as u64;
        self.body.size_hint().map(|left| left + last)
    }
}

fn flat<T>(done: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    done.unwrap_or_else(|_| Err(io::Error::other("the operation was cancelled")))
}

/// Creates the parent directories and a temporary file. Symbolic links are followed by the rules of the location.
fn create_draft(path: &Path, walk: PathResolution, mode: u32) -> io::Result<Draft> {
    let (folder, _) = split(path.as_os_str().as_encoded_bytes());
    Draft::begin(&walk.create_folders(folder, folder_permissions(mode), MAX_FOLDERS)?)
}

fn write_pieces(mut draft: Draft, pieces: &[Bytes]) -> io::Result<Draft> {
    for piece in pieces {
        draft.file().write_all(piece)?;
    }
    Ok(draft)
}
