//! TLS session: reads and writes plain bytes over a transport of encrypted bytes.

use std::io::{self, IoSlice, Read, Write};
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;

use super::records::RecordSizer;
use crate::memory_counters::{CountedBytes, SESSIONS};
use crate::transport::Transport;

/// Maximum number of plain bytes encrypted at once, so that little encrypted data waits for a slow client to read it.
const PIECE: usize = 64 * 1024;

/// Maximum number of plain bytes encrypted at once while TLS records are small. rustls buffers at most 64 KB of
/// encrypted bytes, and small records have more overhead.
const YOUNG_PIECE: usize = 32 * 1024;

/// TLS session of a connection after the handshake, or, with early data, from the first data on.
pub(crate) struct TlsSession {
    tls: ServerConnection,
    /// Number of plain bytes that are encrypted but not completely sent; [`Self::poll_write`] returns this number once
    /// the encrypted bytes are sent.
    in_flight: usize,
    /// Selection of record sizes (small at first, then large); `None` if `ssl_buffer_size` is set.
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

    /// Returns true while the handshake is not complete, so that data being read can be a replay (RFC 8446 section 8).
    pub(crate) fn is_early(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Reads decrypted bytes. Returns 0 if the client has closed the session, even without a notification, because HTTP
    /// framing detects truncation.
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

    /// Reads encrypted bytes once and decrypts the complete records.
    fn poll_records(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.wants_write() {
            // Pending output is a reply to earlier records. If the client does not read it yet, reading continues.
            let _ = self.poll_flush(transport, cx)?;
        }
        match self.tls.read_tls(&mut TransportIo { transport, cx }) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // Sends the alert about the error.
            let _ = self.poll_flush(transport, cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(()))
    }

    /// Encrypts and sends bytes once. Ready when the returned number of bytes has been sent. After `Pending`, the
    /// caller must pass the same bytes again.
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

    /// Encrypts `bytes` and sends them without waiting, or together with the next write. Returns the number of bytes
    /// encrypted. Fails with `WouldBlock` if earlier encrypted bytes are not sent yet.
    pub(crate) fn write_ahead(&mut self, transport: &Transport, bytes: &[u8]) -> io::Result<usize> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        if self.in_flight > 0 || self.poll_flush(transport, &mut cx)?.is_pending() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.encrypt(&[IoSlice::new(bytes)])?;
        // Bytes that are not sent now are sent by the next write, whose result does not include them.
        let _ = self.poll_flush(transport, &mut cx)?;
        Ok(taken)
    }

    /// Returns true if a write is in progress: its bytes are encrypted but not completely sent.
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

    /// Encrypts up to [`YOUNG_PIECE`] bytes in records of `most` bytes. Returns the number of bytes taken.
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

    /// Ready once the client has closed its side or the connection has failed. Pending otherwise; a close after
    /// received bytes may not be detected until these are read.
    pub(crate) fn poll_closed(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // A pipelined request is pending: a close after it is detected once the request has been read.
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

    /// Sends the close notification without waiting.
    pub(crate) fn send_close_notify(&mut self, transport: &Transport) {
        self.tls.send_close_notify();
        let _ = self.poll_flush(transport, &mut Context::from_waker(std::task::Waker::noop()));
    }
}

/// Adapter of a transport for rustls: I/O that fails with `WouldBlock` and then wakes the task.
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
