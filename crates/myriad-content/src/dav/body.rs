//! Request bodies.

use std::future::poll_fn;

use myriad_exchange::exchange::{Exchange, Gathered};
use myriad_files::FileBody;
use myriad_http::body::BoxBody;
use myriad_net::RequestBody;

use super::failure::{Done, Failure};

/// Returns the body, which another place may have buffered already.
pub(super) fn body(exchange: &mut Exchange) -> BoxBody {
    let upload = &mut exchange.request.upload;
    upload.body.send_continue();
    match upload.gathered.clone() {
        Some(Gathered::File(file, length)) => Box::pin(FileBody::new(file, length)),
        Some(Gathered::Memory(bytes)) => Box::pin(myriad_http::body::Full::new(bytes)),
        None => Box::pin(std::mem::replace(&mut upload.body, RequestBody::empty())),
    }
}

/// Maximum length of an XML body, in bytes.
const MOST_XML: usize = 64 << 10;

/// Reads a complete body, at most 64 KB.
pub(super) async fn small_body(exchange: &mut Exchange) -> Done<Vec<u8>> {
    let mut body = body(exchange);
    let mut whole = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        let piece =
            piece.map_err(|error| Failure::new(error.status(), format!("request body failed ({error})")))?;
        if whole.len() + piece.len() > MOST_XML {
            return Err(Failure::new(413, "the body is longer than 64 KB"));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}
