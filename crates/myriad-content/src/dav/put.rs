//! PUT: stores the request body as a file (RFC 9110 section 9.3.4).

use std::future::poll_fn;
use std::io::Write;

use bytes::Bytes;
use myriad_base::calendar::parse_http_date;
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_files::Draft;
use myriad_http::Known;
use rustix::fs::Timespec;

use super::answer::{blocking, respond_after_change};
use super::body::body;
use super::delete::is_folder;
use super::ext::{self, ChangeScope, LockZone};
use super::failure::{DavFailure, DavResult};
use super::settings::DavSettings;
use super::target::{DavTarget, NameInFolder};

/// Minimum number of body bytes of a PUT that are passed to the blocking threads at a time, except the last bytes.
const LEAST_WRITE: usize = 64 << 10;

pub(super) fn begin(exchange: &mut Exchange, rules: &DavSettings, zone: Option<LockZone>) -> PhaseStep {
    let request = &exchange.request;
    let uri = request.route.uri.clone();
    if uri.ends_with(b"/") {
        return DavFailure::new(409, "cannot PUT to a collection").into_step(&mut exchange.request);
    }
    if request.received.head.known(Known::ContentRange).is_some() {
        return DavFailure::new(501, "PUT with range is unsupported").into_step(&mut exchange.request);
    }
    let rules = *rules;
    match DavTarget::of(exchange, &uri) {
        Ok(target) => PhaseStep::wait(async move |exchange| {
            let path = target.path.clone();
            let done = write_body(exchange, rules, target, zone).await;
            respond_after_change(exchange, vec![path], done)
        }),
        Err(failure) => failure.into_step(&mut exchange.request),
    }
}

async fn write_body(
    exchange: &mut Exchange,
    rules: DavSettings,
    target: DavTarget,
    zone: Option<LockZone>,
) -> DavResult {
    let head = &exchange.request.received.head;
    let now_s = exchange.request.received.at_ms / 1000;
    let date = head.known(Known::Date).and_then(|date| parse_http_date(date, now_s));
    let modified = date.and_then(|date| i64::try_from(date).ok());
    let modified = modified.map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 });
    let path = target.path.clone();
    let failed = move |error: &std::io::Error| DavFailure::from_io_error(error, 409, "PUT", &path);
    let (target, mut draft) = blocking(move || {
        let draft = create_draft(&place(&target, rules)?, &target.path)?;
        Ok((target, draft))
    })
    .await?;
    let mut body = body(exchange);
    let (mut held, mut length) = (Vec::new(), 0);
    loop {
        let piece = poll_fn(|cx| body.as_mut().poll_data(cx)).await.transpose();
        let piece = piece
            .map_err(|error| DavFailure::new(error.status(), format!("request body failed ({error})")))?;
        let is_last = piece.is_none();
        length += piece.as_ref().map_or(0, Bytes::len);
        held.extend(piece);
        if length >= LEAST_WRITE || is_last {
            let (pieces, failed) = (std::mem::take(&mut held), failed.clone());
            draft = blocking(move || write(draft, &pieces).map_err(|error| failed(&error))).await?;
            length = 0;
        }
        if is_last {
            break;
        }
    }
    // Another client may have locked the file while the body was received.
    ext::check_locks(&exchange.request, zone.as_ref(), &[(&target.path, ChangeScope::Alone)])?;
    blocking(move || {
        // The status is determined again: another request may have created the file while the body was received.
        let place = target.open_folder(409)?;
        let status = status(&place, &target.path)?;
        draft.place(place.name, rules.access.0, modified).map_err(|error| failed(&error))?;
        Ok(status)
    })
    .await
}

fn place(target: &DavTarget, rules: DavSettings) -> DavResult<NameInFolder<'_>> {
    if rules.full_path { target.open_or_create_folder(rules.access) } else { target.open_folder(409) }
}

fn create_draft(place: &NameInFolder<'_>, path: &[u8]) -> DavResult<Draft> {
    status(place, path)?;
    Draft::begin(&place.folder).map_err(|error| DavFailure::from_io_error(&error, 409, "open()", path))
}

/// Returns the status of a PUT: 201 if the file does not exist, 204 if it is replaced; an error for a directory.
fn status(place: &NameInFolder<'_>, path: &[u8]) -> DavResult {
    match place.status()? {
        None => Ok(201),
        Some(found) if is_folder(&found) => {
            let path = String::from_utf8_lossy(path);
            Err(DavFailure::new(409, format!("\"{path}\" could not be created: it is a directory")))
        }
        Some(_) => Ok(204),
    }
}

fn write(mut draft: Draft, pieces: &[Bytes]) -> std::io::Result<Draft> {
    for piece in pieces {
        draft.file().write_all(piece)?;
    }
    Ok(draft)
}
