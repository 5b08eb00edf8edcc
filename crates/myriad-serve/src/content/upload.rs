//! The request's body on its way to an origin (`*_request_buffering`).
//!
//! A php-fpm child serves one request at a time: one that reads a body as a slow client sends it is taken from everybody
//! else meanwhile. So the body is gathered first, in memory up to `client_body_buffer_size`, then in a file.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use myriad_http::body::{Body, BodyError};
use myriad_net::RequestBody;
use myriad_upstream::RequestPayload;

use super::temp_file::{FileBody, TempFile};
use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::runtime::OriginPlace;

/// Least that is written to a file at a time, bytes.
const LEAST_WRITE: u64 = 64 << 10;

/// The body as it goes to the origin; the error is the status to answer.
pub(crate) async fn payload(exchange: &mut Exchange, origin: &OriginPlace) -> Result<RequestPayload, u16> {
    let mut body = std::mem::replace(&mut exchange.request.body, RequestBody::empty());
    if body.is_empty() || !origin.pass_request_body {
        return Ok(RequestPayload::Empty);
    }
    if !origin.request_buffering {
        let length = body.length();
        return Ok(RequestPayload::Stream(Box::pin(body), length));
    }
    match gather(&mut body, exchange.request.place().body_in_memory).await {
        Ok((payload, length)) => {
            exchange.request.body_length = Some(length);
            Ok(payload)
        }
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("request body failed ({error})"));
            Err(error.status())
        }
    }
}

/// Reads a body to its end; at most `memory` bytes, or one write, are held in memory.
async fn gather(body: &mut RequestBody, memory: u64) -> Result<(RequestPayload, u64), BodyError> {
    let failed = |error: std::io::Error| BodyError::Io(format!("temporary file: {error}"));
    let mut held: Vec<Bytes> = Vec::new();
    let mut held_bytes = 0;
    let mut file: Option<TempFile> = None;
    let mut written = 0;
    loop {
        let piece = poll_fn(|cx| Pin::new(&mut *body).poll_data(cx)).await.transpose()?;
        let ended = piece.is_none();
        held_bytes += piece.as_ref().map_or(0, Bytes::len) as u64;
        held.extend(piece);
        let spills = match &file {
            Some(_) => ended || held_bytes >= LEAST_WRITE,
            None => held_bytes > memory,
        };
        if spills && held_bytes > 0 {
            let file = match &mut file {
                Some(file) => file,
                None => file.insert(TempFile::create().await.map_err(failed)?),
            };
            file.write(std::mem::take(&mut held), written).await.map_err(failed)?;
            written += std::mem::take(&mut held_bytes);
        }
        if ended {
            break;
        }
    }
    Ok(match file {
        Some(file) => {
            (RequestPayload::Stream(Box::pin(FileBody::new(file, written)), Some(written)), written)
        }
        None => (RequestPayload::Bytes(joined(held)), held_bytes),
    })
}

fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    match (pieces.pop(), pieces.is_empty()) {
        (None, _) => Bytes::new(),
        (Some(only), true) => only,
        (Some(last), false) => {
            let mut whole = BytesMut::new();
            pieces.iter().chain([&last]).for_each(|piece| whole.extend_from_slice(piece));
            whole.freeze()
        }
    }
}
