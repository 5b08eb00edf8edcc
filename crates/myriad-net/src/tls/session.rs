//! Session: reads and writes plain bytes over a socket of ciphertext.

use std::io::{self, IoSlice, Read, Write};
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;

use super::records::RecordSizer;
use crate::memory_counters::{CountedBytes, SESSIONS};
use crate::transport::Transport;

/// Maximum number of plain bytes encrypted at once: bytes that a slow client has not read stay unencrypted.
const PIECE: usize = 64 * 1024;

/// Maximum number of plain bytes encrypted at once while records are small: rustls buffers at most 64 KB of ciphertext,
/// and record headers are a larger part of it.
const YOUNG_PIECE: usize = 32 * 1024;

/// TLS state of a connection after its handshake.
pub(crate) struct TlsSession {
    tls: ServerConnection,
    /// Plain bytes of a write that were encrypted but not completely sent; the write reports them when they are.
    in_flight: usize,
    /// Record sizes, if the configuration does not set them.
    records: Option<RecordSizer>,
    _counted: CountedBytes,
}

impl TlsSession {
    pub(super) fn new(tls: ServerConnection, sizes_records: bool) -> Self {
        Self {
            tls,
            in_flight: 0,
            records: sizes_records.then(RecordSizer::default),
            _counted: CountedBytes::new(&SESSIONS, 1),
        }
    }

    /// Returns whether the data being read may be a replay because the handshake is not complete (RFC 8446 section 8).
    pub(crate) fn is_early(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Reads decrypted bytes. Returns zero if the client has closed the session, with or without a notification: the
    /// framing of HTTP detects truncation.
    pub(crate) fn poll_read(
        &mut self,
        transport: &Transport,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Some(mut early) = self.tls.early_data() {
                let count = early.read(buffer)?;
                if count > 0 {
                    return Poll::Ready(Ok(count));
                }
            }
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Poll::Ready(Ok(0)),
                outcome => return Poll::Ready(outcome),
            }
            ready!(self.poll_records(transport, cx))?;
        }
    }

    /// Reads and processes records.
    fn poll_records(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.wants_write() {
            // A reply to the last records; if the client does not read it yet, reading continues.
            let _ = self.poll_flush(transport, cx)?;
        }
        match self.tls.read_tls(&mut TransportIo { transport, cx }) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // Sends the alert.
            let _ = self.poll_flush(transport, cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(()))
    }

    /// Writes once: ready when the reported bytes have been sent as ciphertext. While it is pending, the same bytes
    /// must be passed again.
    pub(crate) fn poll_write(
        &mut self,
        transport: &Transport,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.in_flight == 0 {
            ready!(self.poll_flush(transport, cx))?;
            self.in_flight = self.encrypt(parts)?;
        }
        ready!(self.poll_flush(transport, cx))?;
        Poll::Ready(Ok(std::mem::take(&mut self.in_flight)))
    }

    /// Accepts bytes that are sent before the next write, now or with it. Fails with `WouldBlock` if a write is in
    /// progress or ciphertext of an earlier write is left.
    pub(crate) fn write_ahead(&mut self, transport: &Transport, bytes: &[u8]) -> io::Result<usize> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        if self.in_flight > 0 || self.poll_flush(transport, &mut cx)?.is_pending() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.encrypt(&[IoSlice::new(bytes)])?;
        // Unsent bytes are not part of the next write and must not be counted in it.
        let _ = self.poll_flush(transport, &mut cx)?;
        Ok(taken)
    }

    /// Returns whether a write with encrypted bytes is in progress.
    pub(crate) fn is_writing(&self) -> bool {
        self.in_flight > 0
    }

    fn encrypt(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if let Some(records) = &mut self.records {
            let most = records.max_record_bytes(crate::clock::now_ms());
            records.record_sent(total);
            if let Some(most) = most.filter(|most| total > *most) {
                return self.encrypt_small(parts, most);
            }
        }
        if total <= PIECE {
            return self.tls.writer().write_vectored(parts);
        }
        let mut taken = 0;
        for part in parts {
            let piece = &part[..part.len().min(PIECE - taken)];
            let count = self.tls.writer().write(piece)?;
            taken += count;
            if count < part.len() {
                break;
            }
        }
        Ok(taken)
    }

    /// Encrypts up to one piece in records of `most` bytes.
    fn encrypt_small(&mut self, parts: &[IoSlice<'_>], most: usize) -> io::Result<usize> {
        let mut taken = 0;
        let mut record: Vec<u8> = Vec::with_capacity(most);
        for part in parts {
            let mut rest = &part[..part.len().min(YOUNG_PIECE - taken)];
            taken += rest.len();
            while !rest.is_empty() {
                let (piece, next) = rest.split_at(rest.len().min(most - record.len()));
                record.extend_from_slice(piece);
                rest = next;
                if record.len() == most {
                    self.tls.writer().write_all(&record)?;
                    record.clear();
                }
            }
        }
        if !record.is_empty() {
            self.tls.writer().write_all(&record)?;
        }
        Ok(taken)
    }

    fn poll_flush(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut TransportIo { transport, cx }) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ready once the client has closed its side or the connection failed; pending otherwise, even if data arrives.
    pub(crate) fn poll_closed(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // A pipelined request is pending: a close after it is detected when that request has been read.
            match self.tls.process_new_packets() {
                Ok(state) if state.peer_has_closed() => return Poll::Ready(()),
                Ok(state) if state.plaintext_bytes_to_read() > 0 => return Poll::Pending,
                Ok(_) => {}
                Err(_) => return Poll::Ready(()),
            }
            match self.tls.read_tls(&mut TransportIo { transport, cx }) {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(_) => return Poll::Ready(()),
            }
        }
    }

    /// Sends the close notification, if the client accepts it immediately.
    pub(crate) fn send_close_notify(&mut self, transport: &Transport) {
        self.tls.send_close_notify();
        let _ = self.poll_flush(transport, &mut Context::from_waker(std::task::Waker::noop()));
    }
}

/// Transport as an I/O stream for rustls.
pub(super) struct TransportIo<'a, 'b> {
    pub(super) transport: &'a Transport,
    pub(super) cx: &'a mut Context<'b>,
}

impl Read for TransportIo<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        or_would_block(self.transport.poll_receive(self.cx, buffer))
    }
}

impl Write for TransportIo<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_would_block(self.transport.poll_send(self.cx, &[IoSlice::new(bytes)]))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        or_would_block(self.transport.poll_send(self.cx, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn or_would_block(polled: Poll<io::Result<usize>>) -> io::Result<usize> {
    match polled {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}
