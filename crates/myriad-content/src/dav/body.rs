//! Request bodies of WebDAV methods.

use std::future::poll_fn;

use myriad_exchange::exchange::{BufferedBody, Exchange};
use myriad_files::FileBody;
use myriad_http::body::BoxBody;
use myriad_net::RequestBody;

use super::failure::{DavFailure, DavResult};

/// Takes the request body, from memory or a file if another step has already buffered it. Sends 100 (Continue) if the
/// client waits for it.
pub(super) fn body(exchange: &mut Exchange) -> BoxBody {
    let upload = &mut exchange.request.upload;
    upload.body.send_continue();
    match upload.buffered.clone() {
        Some(BufferedBody::File(file, length)) => Box::pin(FileBody::new(file, length)),
        Some(BufferedBody::Memory(bytes)) => Box::pin(myriad_http::body::FullBody::new(bytes)),
        None => Box::pin(std::mem::replace(&mut upload.body, RequestBody::empty())),
    }
}

/// Maximum length of the XML body of a WebDAV request, in bytes.
const MOST_XML: usize = 64 << 10;

/// Reads a complete XML body. Returns 413 if it is longer than 64 KB, and the status of the failure if it cannot be
/// read.
pub(super) async fn small_body(exchange: &mut Exchange) -> DavResult<Vec<u8>> {
    let mut body = body(exchange);
    let mut whole = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        let piece = piece
            .map_err(|error| DavFailure::new(error.status(), format!("request body failed ({error})")))?;
        if whole.len() + piece.len() > MOST_XML {
            return Err(DavFailure::new(413, "the body is longer than 64 KB"));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}
