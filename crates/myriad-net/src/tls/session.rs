//! A session: reads and writes of plain bytes over a socket of ciphertext.

use std::io::{self, IoSlice, Read, Write};
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;

use super::records::Records;
use crate::memory_figures::{Counted, SESSIONS};
use crate::transport::Transport;

/// Most plain bytes that are encrypted at once: what a slow client has not taken yet stays unencrypted.
const PIECE: usize = 64 * 1024;

/// Most plain bytes that are encrypted at once while records are small: rustls holds 64 KB of ciphertext at most, and heads make
/// up more of it.
const YOUNG_PIECE: usize = 32 * 1024;

/// The TLS state of a connection after its handshake.
pub(crate) struct Session {
    tls: ServerConnection,
    /// Plain bytes of a write that were encrypted and did not all leave yet: the write is told of them when they have.
    in_flight: usize,
    /// How large records are, where the configuration leaves it open.
    records: Option<Records>,
    _counted: Counted,
}

impl Session {
    pub(super) fn new(tls: ServerConnection, sizes_records: bool) -> Self {
        Self {
            tls,
            in_flight: 0,
            records: sizes_records.then(Records::default),
            _counted: Counted::new(&SESSIONS, 1),
        }
    }

    /// Whether what is read may have been sent by somebody else before: the handshake is not over (RFC 8446 section 8).
    pub(crate) fn is_early(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Reads decrypted bytes. Zero where the client has ended the session, with or without saying so: HTTP's own framing
    /// tells whether something is missing.
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

    /// Reads records and takes them in.
    fn poll_records(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.wants_write() {
            // An answer to the last records; where the client does not take it yet, reading goes on all the same.
            let _ = self.poll_flush(transport, cx)?;
        }
        match self.tls.read_tls(&mut Wire { transport, cx }) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The alert that says why.
            let _ = self.poll_flush(transport, cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(()))
    }

    /// Writes once: ready when the bytes of which it tells have left as ciphertext. As long as it is pending, the same bytes
    /// must be given again.
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

    /// Takes over bytes that nobody waits for: they leave ahead of the next write, now or with it. No write may be under
    /// way, nor may ciphertext of an earlier one be left: then nothing is taken.
    pub(crate) fn write_ahead(&mut self, transport: &Transport, bytes: &[u8]) -> io::Result<usize> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        if self.in_flight > 0 || self.poll_flush(transport, &mut cx)?.is_pending() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.encrypt(&[IoSlice::new(bytes)])?;
        // What does not leave yet is no part of the next write, which must not be told that it was.
        let _ = self.poll_flush(transport, &mut cx)?;
        Ok(taken)
    }

    /// Whether a write is under way whose bytes are encrypted already.
    pub(crate) fn is_writing(&self) -> bool {
        self.in_flight > 0
    }

    fn encrypt(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if let Some(records) = &mut self.records {
            let most = records.most(crate::clock::now_ms());
            records.sent(total);
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

    /// Encrypts up to a piece in records of `most` bytes.
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
            match self.tls.write_tls(&mut Wire { transport, cx }) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Ready once the client has closed its side or the connection failed; pending while it is silent or talks.
    pub(crate) fn poll_closed(&mut self, transport: &Transport, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // A pipelined request waits: a close behind it is seen when that request has been read.
            match self.tls.process_new_packets() {
                Ok(state) if state.peer_has_closed() => return Poll::Ready(()),
                Ok(state) if state.plaintext_bytes_to_read() > 0 => return Poll::Pending,
                Ok(_) => {}
                Err(_) => return Poll::Ready(()),
            }
            match self.tls.read_tls(&mut Wire { transport, cx }) {
                Ok(0) => return Poll::Ready(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(_) => return Poll::Ready(()),
            }
        }
    }

    /// Says that nothing more is to come, if the client takes it at once.
    pub(crate) fn say_goodbye(&mut self, transport: &Transport) {
        self.tls.send_close_notify();
        let _ = self.poll_flush(transport, &mut Context::from_waker(std::task::Waker::noop()));
    }
}

/// The transport, as rustls reads and writes it.
pub(super) struct Wire<'a, 'b> {
    pub(super) transport: &'a Transport,
    pub(super) cx: &'a mut Context<'b>,
}

impl Read for Wire<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        now(self.transport.poll_receive(self.cx, buffer))
    }
}

impl Write for Wire<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        now(self.transport.poll_send(self.cx, &[IoSlice::new(bytes)]))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        now(self.transport.poll_send(self.cx, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn now(polled: Poll<io::Result<usize>>) -> io::Result<usize> {
    match polled {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}
