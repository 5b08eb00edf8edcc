//! Transmission of a batch by OTLP over gRPC (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>), with
//! the HTTP/2 client that is also used for origins.

use std::io::{self, IoSlice, Read, Write};
use std::time::Instant;

use crate::telemetry::trace::rejected;
use bytes::Bytes;
use myriad_base::digits::decimal;
use myriad_http::h2::client::{Http2Client as Http2, OriginEvent, RequestFailure};
use myriad_http::h2::{FRAME_HEADER, MAX_FRAME};
use myriad_http::{Fields, Method};

use super::collector_stream::CollectorStream;
use super::target::{CollectorTarget, EXPORT_TIMEOUT, ExportFailure};

/// URL path of the collector's gRPC method that receives spans.
const PATH: &[u8] = b"/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/// Maximum size of a response head, in bytes.
const MOST_HEAD: usize = 16 << 10;
/// Maximum size of a response message (which reports rejected spans), and receive window of a stream, in bytes.
const MOST_MESSAGE: usize = 64 << 10;
/// Maximum number of bytes of a batch that are scheduled for one write to the connection.
const AT_ONCE: usize = 64 << 10;
/// gRPC statuses after which a batch may be retried (OTLP, "Failures"). [`EXHAUSTED`] is retried only if the response
/// has `grpc-status-details-bin`, which contains the delay; without it the message is too long, and a retry would fail
/// again.
const AGAIN: [u32; 6] = [1, 4, 10, 11, 14, 15];
/// gRPC status `RESOURCE_EXHAUSTED`.
const EXHAUSTED: u32 = 8;

/// Client that sends batches over gRPC. It keeps one connection open between batches; `None` before the first batch and
/// after a connection error.
#[derive(Default)]
pub(super) struct GrpcExportClient(Option<GrpcConnection>);

struct GrpcConnection {
    link: CollectorStream,
    http: Http2,
    input: Vec<u8>,
}

/// Response of the collector to a batch, as far as received.
#[derive(Default)]
struct GrpcReply {
    /// HTTP status of the final response head; `None` until it is received.
    status: Option<u16>,
    /// gRPC status and its message; `None` until they are received.
    grpc: Option<(u32, String)>,
    /// True if the response has `grpc-status-details-bin`; with status 8 this contains the delay before a retry.
    has_details: bool,
    /// Data of the response body: one gRPC message after its header of 5 bytes.
    message: Vec<u8>,
    is_complete: bool,
}

impl GrpcExportClient {
    /// Sends a batch within [`EXPORT_TIMEOUT`]; after an error on a reused connection once more on a new one. Returns
    /// the number of rejected spans and the collector's message, or `None` if the response contains neither. Fails if
    /// the collector is unavailable or rejects the whole batch.
    pub(super) fn send(
        &mut self,
        target: &CollectorTarget,
        message: &[u8],
    ) -> Result<Option<(u64, String)>, ExportFailure> {
        let end = Instant::now() + EXPORT_TIMEOUT;
        let reused = self.0.take().filter(|kept| kept.http.has_room());
        let reply = match reused.map(|kept| kept.call(target, message, end)) {
            Some(Ok(reply)) => Ok(reply),
            // The collector may have closed the idle connection; a new connection shows whether it is available.
            _ => GrpcConnection::new(target, end).and_then(|new| new.call(target, message, end)),
        };
        let (connection, reply) = reply.map_err(|error| ExportFailure::Unavailable(error_message(&error)))?;
        self.0 = Some(connection);
        reply.outcome()
    }
}

fn error_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the request timed out".to_owned(),
        _ => error.to_string(),
    }
}

impl GrpcConnection {
    fn new(target: &CollectorTarget, end: Instant) -> io::Result<Self> {
        let link = CollectorStream::connect(target, end)?;
        Ok(Self { link, http: Http2::new(MOST_MESSAGE as u32), input: Vec::new() })
    }

    /// Sends one request and reads its response. Consumes the connection and returns it for reuse on success; on an
    /// error it is closed.
    fn call(
        mut self,
        target: &CollectorTarget,
        message: &[u8],
        end: Instant,
    ) -> io::Result<(Self, GrpcReply)> {
        self.link.set_deadline(end);
        let stream = self.open(target).ok_or_else(|| io::Error::other("it accepts no new requests"))?;
        let mut body = Vec::with_capacity(message.len() + 5);
        body.push(0);
        body.extend_from_slice(&(message.len() as u32).to_be_bytes());
        body.extend_from_slice(message);
        self.http.send(stream, Bytes::from(body), true);
        let mut reply = GrpcReply::default();
        loop {
            self.write()?;
            if reply.is_complete {
                // The collector may have responded before it received the complete request.
                self.http.cancel(stream);
                self.write()?;
                return Ok((self, reply));
            }
            let mut piece = [0; 8192];
            let count = self.link.read(&mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.input.extend_from_slice(&piece[..count]);
            self.take(stream, &mut reply)?;
        }
    }

    fn open(&mut self, target: &CollectorTarget) -> Option<u32> {
        let endpoint = &target.endpoint;
        let host =
            if endpoint.host.contains(':') { format!("[{}]", endpoint.host) } else { endpoint.host.clone() };
        let authority = format!("{host}:{}", endpoint.port);
        let agent = concat!("Myriad/", env!("CARGO_PKG_VERSION"));
        let scheme: &[u8] = if endpoint.secure { b"https" } else { b"http" };
        let own: [(&[u8], &[u8]); 7] = [
            (b":method", b"POST"),
            (b":scheme", scheme),
            (b":path", PATH),
            (b":authority", authority.as_bytes()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"user-agent", agent.as_bytes()),
        ];
        let others = target.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        self.http.open(Method::Post, own.into_iter().chain(others), false, MOST_HEAD)
    }

    fn write(&mut self) -> io::Result<()> {
        loop {
            self.http.schedule(AT_ONCE);
            if self.http.output().is_empty() {
                return self.link.flush();
            }
            let mut slices = [IoSlice::new(&[]); 1];
            self.http.output().slices(&mut slices);
            let count = self.link.write(&slices[0])?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.http.output().advance(count);
        }
    }

    /// Processes the complete frames in the input buffer; adds those of `stream` to `reply`. Fails if a frame is
    /// invalid or too large, or if the request on `stream` has failed.
    fn take(&mut self, stream: u32, reply: &mut GrpcReply) -> io::Result<()> {
        loop {
            let input =
                self.http.receive(&self.input).map_err(|error| io::Error::other(format!("{error:?}")))?;
            match input.event {
                OriginEvent::Partial => break,
                OriginEvent::Head { stream: of, head, end } if of == stream => {
                    reply.head(head.status, &head.fields, end);
                }
                OriginEvent::Data { stream: of, data, end } if of == stream => {
                    let count = data.len();
                    reply.data(&self.input[data], end)?;
                    self.http.release(stream, count);
                }
                OriginEvent::Trailers { stream: of, fields } if of == stream => {
                    reply.status_of(&fields);
                    reply.is_complete = true;
                }
                _ => {}
            }
            self.input.drain(..input.consumed);
        }
        if self.input.len() > MAX_FRAME + FRAME_HEADER {
            return Err(io::Error::other("its frames are too large"));
        }
        while let Some((of, lost)) = self.http.next_failed() {
            if of == stream && !reply.is_complete {
                return Err(io::Error::other(match lost {
                    RequestFailure::Reset(code) => format!("it cancelled the request ({code})"),
                    lost => format!("{lost:?}"),
                }));
            }
        }
        Ok(())
    }
}

impl GrpcReply {
    fn head(&mut self, status: u16, fields: &Fields, end: bool) {
        if status >= 200 {
            self.status = Some(status);
            self.status_of(fields);
            self.is_complete = end;
        }
    }

    fn data(&mut self, data: &[u8], end: bool) -> io::Result<()> {
        if self.message.len() + data.len() > MOST_MESSAGE {
            return Err(io::Error::other("its response is too large"));
        }
        self.message.extend_from_slice(data);
        self.is_complete = end;
        Ok(())
    }

    fn status_of(&mut self, fields: &Fields) {
        if let Some(number) = fields.get(b"grpc-status").and_then(decimal) {
            let why = fields.get(b"grpc-message").unwrap_or_default();
            self.grpc = Some((number, shown(why)));
            self.has_details = fields.get(b"grpc-status-details-bin").is_some();
        }
    }

    fn outcome(self) -> Result<Option<(u64, String)>, ExportFailure> {
        match (self.grpc, self.status) {
            (Some((0, _)), _) => Ok(self.message.get(5..).and_then(rejected)),
            (Some((status, why)), _) => {
                let text = format!("gRPC status {status}: {why}");
                let again = AGAIN.contains(&status) || status == EXHAUSTED && self.has_details;
                Err(if again { ExportFailure::Unavailable(text) } else { ExportFailure::Rejected(text) })
            }
            (None, Some(status @ (429 | 502 | 503 | 504))) => {
                Err(ExportFailure::Unavailable(format!("status {status}")))
            }
            (None, status) => Err(ExportFailure::Rejected(format!(
                "no gRPC status in its response; HTTP status {}",
                status.unwrap_or(0)
            ))),
        }
    }
}

/// Converts a text from a collector for a log line: its first 256 bytes, without control characters.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(256)]).into_owned();
    text.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, grpc: Option<&str>) -> Result<Option<(u64, String)>, ExportFailure> {
        let mut fields = Fields::new();
        if let Some(number) = grpc {
            fields.push(b"grpc-status", number.as_bytes());
        }
        let mut reply = GrpcReply::default();
        reply.head(status, &fields, true);
        assert!(reply.is_complete);
        reply.outcome()
    }

    #[test]
    fn retryable_export_failures_are_distinguished_from_permanent_ones() {
        assert!(matches!(outcome(200, Some("0")), Ok(None)));
        for number in ["1", "4", "14"] {
            assert!(matches!(outcome(200, Some(number)), Err(ExportFailure::Unavailable(_))), "{number}");
        }
        // Status 8 without a delay: the message is too long.
        for number in ["3", "7", "8", "12", "16"] {
            assert!(matches!(outcome(200, Some(number)), Err(ExportFailure::Rejected(_))), "{number}");
        }
        let mut fields = Fields::new();
        fields.push(b"grpc-status", b"8");
        fields.push(b"grpc-status-details-bin", b"CAgQAQ");
        let mut reply = GrpcReply::default();
        reply.head(200, &fields, true);
        assert!(matches!(reply.outcome(), Err(ExportFailure::Unavailable(_))));
        assert!(matches!(outcome(503, None), Err(ExportFailure::Unavailable(_))));
        assert!(matches!(outcome(404, None), Err(ExportFailure::Rejected(_))));
    }
}
