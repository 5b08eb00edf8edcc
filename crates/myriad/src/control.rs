//! Channel between the supervisor and a worker, and between supervisors: framed messages that may carry descriptors.
//!
//! A frame consists of a head (kind, payload length, descriptor count), one filler byte for each further batch of
//! descriptors, and the payload. Descriptors are sent as `SCM_RIGHTS`, so both sides only handle owned descriptors.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use zeroize::Zeroizing;

/// Maximum number of descriptors in one message to the kernel, which permits 253 (`SCM_MAX_FD`).
const DESCRIPTORS_PER_BATCH: usize = 200;
const HEAD_LENGTH: usize = 9;
/// Maximum length of a message payload on the control channel, in bytes. Configurations are far shorter: a longer
/// payload means that the peer uses another protocol.
const MAX_PAYLOAD: usize = 256 << 20;
const MAX_DESCRIPTORS: usize = 65_536;
/// Maximum time without progress of the peer of a control channel while a message is sent or received. After that,
/// sending or receiving fails.
const STALL_LIMIT: Duration = Duration::from_secs(20);

/// Kind of a message between supervisor and worker, or between supervisors. Between supervisor and worker, each kind is
/// sent in one direction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// To the worker, after [`MessageKind::Confine`] and for each reload that the same process takes over: a
    /// configuration to run, with its listeners and logs ([`crate::handover::WorkerHandover`]).
    Configure,
    /// To the worker: log files that were reopened after rotation.
    Reopen,
    /// To the worker: complete the requests in progress, then exit.
    Quit,
    /// From the worker: the configuration runs and the process accepts connections. The payload of the first such
    /// message lists the rights that the process has dropped; it is empty with `sandbox off`.
    Ready,
    /// From the worker: the configuration was rejected; the payload is the reason.
    Failed,
    /// From the worker: the last connection of an older configuration has closed.
    Drained,
    /// From the worker: a file to store ([`crate::state`]); the payload is its path and its bytes.
    Keep,
    /// From an old supervisor to a new one: listening sockets; the payload contains their names, the QUIC secret, and
    /// TLS ticket keys ([`crate::handover::LegacyHandover`]). The number of this kind must not change, because older
    /// binaries use it.
    Listeners,
    /// From the worker: the current keys of session tickets with one lifetime ([`crate::ticket_keys`]).
    TicketKeys,
    /// From the worker: a request to recreate the folder of a cache zone; the payload is its path.
    Folder,
    /// To the worker, as the first frame: the account, limits, working directory and sandbox setting of the process
    /// ([`crate::handover::Confinement`]).
    Confine,
    /// To the worker, and between supervisors of an upgrade: worker processes that serve QUIC on the same sockets
    /// ([`crate::handover::QuicProcesses`]).
    Processes,
}

impl MessageKind {
    const ALL: [Self; 12] = [
        Self::Configure,
        Self::Reopen,
        Self::Quit,
        Self::Ready,
        Self::Failed,
        Self::Drained,
        Self::Keep,
        Self::Listeners,
        Self::TicketKeys,
        Self::Folder,
        Self::Confine,
        Self::Processes,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Message that was received on a control channel.
#[derive(Debug)]
pub(crate) struct ControlMessage {
    pub(crate) kind: MessageKind,
    /// Payload of the message. It may contain keys and is overwritten when dropped.
    pub(crate) payload: Zeroizing<Vec<u8>>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// One endpoint of the control channel between two processes (supervisor and worker, or two supervisors).
#[derive(Debug)]
pub(crate) struct ControlChannel {
    stream: UnixStream,
    /// Lock around the sending of a message: several threads of a worker may send.
    sending: Mutex<()>,
}

impl ControlChannel {
    /// Creates a connected pair of endpoints with close-on-exec set on both.
    pub(crate) fn pair() -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::new(ours)?, theirs))
    }

    /// Creates an endpoint from a connected stream, such as one inherited from the parent process, and sets its
    /// timeouts to [`STALL_LIMIT`].
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(STALL_LIMIT))?;
        stream.set_read_timeout(Some(STALL_LIMIT))?;
        Ok(Self { stream, sending: Mutex::new(()) })
    }

    /// Sends one message and waits until the buffer of the peer accepts it. Fails if the peer reads nothing for
    /// [`STALL_LIMIT`] or has closed the channel.
    pub(crate) fn send(
        &self,
        kind: MessageKind,
        payload: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let _whole_frame = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut head = [0; HEAD_LENGTH];
        head[0] = kind as u8;
        head[1..5].copy_from_slice(&length_field(payload.len())?);
        head[5..9].copy_from_slice(&length_field(descriptors.len())?);
        let mut batches = descriptors.chunks(DESCRIPTORS_PER_BATCH);
        self.send_with(&head, batches.next().unwrap_or_default())?;
        for batch in batches {
            self.send_with(&[0], batch)?;
        }
        (&self.stream).write_all(payload)
    }

    fn send_with(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_PER_BATCH))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        let sent = rustix::io::retry_on_intr(|| {
            sendmsg(&self.stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)
        })?;
        (&self.stream).write_all(&bytes[sent..])
    }

    /// Receives one message and waits until it is complete. Returns `None` if the peer closed the channel between
    /// messages. Fails if nothing arrives for [`STALL_LIMIT`], or if the message is incomplete, too long or of an
    /// unknown kind.
    pub(crate) fn receive(&self) -> io::Result<Option<ControlMessage>> {
        let mut head = [0; HEAD_LENGTH];
        let mut descriptors = Vec::new();
        let first = self.receive_with(&mut head, &mut descriptors)?;
        if first == 0 {
            return Ok(None);
        }
        (&self.stream).read_exact(&mut head[first..])?;
        let Some(kind) = MessageKind::from_byte(head[0]) else {
            return Err(io::Error::other("unknown message"));
        };
        let length = field_at(&head, 1);
        let count = field_at(&head, 5);
        if length > MAX_PAYLOAD || count > MAX_DESCRIPTORS {
            return Err(io::Error::other("message exceeds the maximum size"));
        }
        while descriptors.len() < count {
            if self.receive_with(&mut [0], &mut descriptors)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let mut payload = Zeroizing::new(vec![0; length]);
        (&self.stream).read_exact(&mut payload)?;
        Ok(Some(ControlMessage { kind, payload, descriptors }))
    }

    fn receive_with(&self, bytes: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_PER_BATCH))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::io::retry_on_intr(|| {
            recvmsg(&self.stream, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        })?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        Ok(received.bytes)
    }
}

impl AsFd for ControlChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn length_field(length: usize) -> io::Result<[u8; 4]> {
    u32::try_from(length).map(u32::to_be_bytes).map_err(io::Error::other)
}

fn field_at(head: &[u8; HEAD_LENGTH], at: usize) -> usize {
    u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};

    fn pair() -> (ControlChannel, ControlChannel) {
        let (ours, theirs) = ControlChannel::pair().expect("pair");
        (ours, ControlChannel::new(theirs).expect("channel"))
    }

    fn file_holding(text: &str) -> std::fs::File {
        let name = rustix::fs::memfd_create("control", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        let mut file = std::fs::File::from(name);
        file.write_all(text.as_bytes()).expect("write");
        file
    }

    #[test]
    fn a_frame_arrives_whole_with_more_descriptors_than_one_batch() {
        let (ours, theirs) = pair();
        let sender = std::thread::spawn(move || {
            let files: Vec<_> = (0..450).map(|number| file_holding(&number.to_string())).collect();
            let borrowed: Vec<_> = files.iter().map(AsFd::as_fd).collect();
            ours.send(MessageKind::Configure, &vec![7; 3 << 20], &borrowed).expect("send");
            ours.send(MessageKind::Quit, b"", &[]).expect("send");
        });
        let message = theirs.receive().expect("receive").expect("message");
        assert_eq!((message.kind, message.payload.len()), (MessageKind::Configure, 3 << 20));
        assert_eq!(message.descriptors.len(), 450);
        for (number, descriptor) in message.descriptors.into_iter().enumerate() {
            let mut file = std::fs::File::from(descriptor);
            let mut text = String::new();
            file.seek(SeekFrom::Start(0)).expect("seek");
            file.read_to_string(&mut text).expect("read");
            assert_eq!(text, number.to_string());
        }
        assert_eq!(theirs.receive().expect("receive").expect("message").kind, MessageKind::Quit);
        sender.join().expect("sender");
        assert!(theirs.receive().expect("end").is_none());
    }

    #[test]
    fn frames_of_several_threads_never_mix() {
        let (ours, theirs) = pair();
        let senders: Vec<u8> = (1..=4).collect();
        std::thread::scope(|scope| {
            for &sender in &senders {
                let ours = &ours;
                scope.spawn(move || {
                    for length in 0..200 {
                        ours.send(MessageKind::Failed, &vec![sender; length], &[]).expect("send");
                    }
                });
            }
            for _ in 0..senders.len() * 200 {
                let message = theirs.receive().expect("receive").expect("message");
                assert!(message.payload.windows(2).all(|pair| pair[0] == pair[1]));
            }
        });
    }

    #[test]
    fn a_peer_that_closes_within_a_frame_is_an_error() {
        let (ours, theirs) = pair();
        (&ours.stream).write_all(&[MessageKind::Ready as u8, 0, 0]).expect("write");
        drop(ours);
        assert!(theirs.receive().is_err());
    }

    #[test]
    fn a_head_out_of_bounds_is_refused_before_memory_is_taken() {
        let (ours, theirs) = pair();
        (&ours.stream).write_all(&[MessageKind::Ready as u8, 255, 255, 255, 255, 0, 0, 0, 0]).expect("write");
        assert!(theirs.receive().is_err());
    }
}
