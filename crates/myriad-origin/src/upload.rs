//! Buffering of a request body for an origin (`*_request_buffering`).
//!
//! A php-fpm child serves one request at a time. While it reads the body of a slow client, it cannot serve other
//! requests. The body is therefore received completely first: in memory up to `client_body_buffer_size`, then in a
//! file.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use myriad_files::{Naming, TempFile};
use myriad_http::body::{Body, BodyError};
use myriad_log::LogLevel;
use myriad_net::RequestBody;
use myriad_upstream::RequestPayload;

use crate::unbuffered_upload;
use myriad_exchange::exchange::{BufferedBody, Exchange};
use myriad_exchange::runtime::{BodyRules, OriginPlace};

/// Minimum size in bytes of a write to the temporary file of a request body, except for the first and the last write.
const MIN_WRITE: u64 = 64 << 10;

/// Size in bytes below which received pieces of a request body are concatenated: otherwise a body in chunks of one byte
/// would need a hundred times its length in memory.
const JOINED_BELOW: usize = 1024;

/// Returns the request body for the origin: a stream with `*_request_buffering off` (for gRPC always) if the protocol
/// permits it, otherwise the complete body, which is read first; empty with `*_pass_request_body off`. Sends 100
/// (Continue) if the client waits for it. The error is the status of the response.
pub async fn payload(exchange: &mut Exchange, origin: &OriginPlace) -> Result<RequestPayload, u16> {
    let request = &mut exchange.request;
    request.upload.body.send_continue();
    if request.upload.buffered.is_none() && !request.upload.body.is_empty() {
        if origin.streams(&request.upload.body) {
            return Box::pin(unbuffered_upload::payload(exchange)).await;
        }
        Box::pin(gather(exchange)).await?;
    }
    match &exchange.request.upload.buffered {
        Some(gathered) if origin.request.pass_body => Ok(gathered.payload()),
        _ => Ok(RequestPayload::Empty),
    }
}

/// Reads the complete request body and stores it in the request. The error, which is logged, is the status of the
/// response.
pub async fn gather(exchange: &mut Exchange) -> Result<(), u16> {
    let mut body = std::mem::replace(&mut exchange.request.upload.body, RequestBody::empty());
    let request = &exchange.request;
    let rules = &request.place().upload.body;
    let naming =
        if request.runtime().names_bodies { rules.naming.max(Naming::WhileUsed) } else { rules.naming };
    match read(&mut body, rules, naming).await {
        Ok(gathered) => {
            if let BufferedBody::File(file, _) = &gathered {
                let level = if rules.in_memory > 0 { LogLevel::Warn } else { LogLevel::Notice };
                let name = file.name().map(|path| format!(" {}", path.display())).unwrap_or_default();
                request
                    .log(level, format_args!("a client request body is buffered to a temporary file{name}"));
            }
            exchange.request.upload.length = Some(gathered.length());
            exchange.request.upload.buffered = Some(gathered);
            Ok(())
        }
        Err(BodyFailure::Failed(error)) => {
            exchange.request.log(LogLevel::Error, format_args!("request body failed ({error})"));
            Err(error.status())
        }
        Err(BodyFailure::NoRoom) => {
            let most = exchange.request.place().upload.body.most_in_files;
            let what = format_args!(
                "request body refused: request bodies in temporary files are limited to {most} bytes in total \
                     (client_body_temp_max_size)"
            );
            exchange.request.log(LogLevel::Error, what);
            Err(503)
        }
    }
}

/// Reason why a request body was not read completely.
enum BodyFailure {
    /// The body was aborted, or could not be written to a file.
    Failed(BodyError),
    /// Bodies in files have reached the limit of their total size (`client_body_temp_max_size`).
    NoRoom,
}

impl From<BodyError> for BodyFailure {
    fn from(error: BodyError) -> Self {
        Self::Failed(error)
    }
}

/// Reads a complete request body. Up to `rules.in_memory` bytes remain in memory; a longer body is written to a file.
/// Returns an error if the body cannot be received or written, or if the files of all bodies would exceed
/// `rules.most_in_files` bytes.
async fn read(
    body: &mut RequestBody,
    rules: &BodyRules,
    naming: Naming,
) -> Result<BufferedBody, BodyFailure> {
    let folder = (rules.folder_is_written || naming != Naming::Nameless).then_some(&rules.folder);
    let failed = |error: std::io::Error| BodyError::Io(format!("temporary file: {error}"));
    let mut held = BufferedPieces::default();
    let mut file: Option<TempFile> = None;
    let mut written = 0;
    loop {
        let piece = poll_fn(|cx| Pin::new(&mut *body).poll_data(cx)).await.transpose()?;
        let is_end = piece.is_none();
        if let Some(piece) = piece {
            held.push(piece);
        }
        let spills = match &file {
            Some(_) => is_end || held.length >= MIN_WRITE,
            None => held.length > rules.in_memory,
        };
        if spills && held.length > 0 {
            let file = match &mut file {
                Some(file) => file,
                None => file.insert(TempFile::create_in(folder, naming).await.map_err(failed)?),
            };
            let length = held.length;
            if !file.charge(length, rules.most_in_files) {
                return Err(BodyFailure::NoRoom);
            }
            file.write(held.take(), written).await.map_err(failed)?;
            written += length;
        }
        if is_end {
            break;
        }
    }
    Ok(match file {
        Some(file) => BufferedBody::File(file, written),
        None => BufferedBody::Memory(joined(held.take())),
    })
}

/// Received pieces of a request body that are in memory and not written to a file.
#[derive(Default)]
struct BufferedPieces {
    pieces: Vec<Bytes>,
    /// Short pieces after those in `pieces`, concatenated.
    tail: BytesMut,
    length: u64,
}

impl BufferedPieces {
    fn push(&mut self, piece: Bytes) {
        self.length += piece.len() as u64;
        if piece.len() < JOINED_BELOW {
            return self.tail.extend_from_slice(&piece);
        }
        self.end_tail();
        self.pieces.push(piece);
    }

    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push(self.tail.split().freeze());
        }
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.end_tail();
        self.length = 0;
        std::mem::take(&mut self.pieces)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pieces_are_held_as_one_and_in_their_order() {
        let mut held = BufferedPieces::default();
        let mut all = Vec::new();
        for number in 0..5000u32 {
            let length = if number % 1000 == 999 { JOINED_BELOW } else { 1 };
            let piece = vec![number as u8; length];
            all.extend_from_slice(&piece);
            held.push(piece.into());
        }
        assert_eq!(held.length, all.len() as u64);
        let pieces = held.take();
        assert_eq!(pieces.len(), 10);
        assert_eq!(joined(pieces), all);
        assert_eq!((held.length, held.take().len()), (0, 0));
    }
}
