//! The channel between the supervisor and a worker, and between supervisors: framed messages that may carry descriptors.
//!
//! A frame is a head (kind, payload length, descriptor count), then one filler byte for each further batch of
//! descriptors, then the payload. Descriptors travel as `SCM_RIGHTS`, so both sides only ever hold owned ones.

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

/// Most descriptors in one message of the kernel (`SCM_MAX_FD`).
const DESCRIPTORS_PER_BATCH: usize = 200;
const HEAD_LENGTH: usize = 9;
/// Most bytes of a payload. No configuration comes near this: a longer one means that the peer does not speak this protocol.
const MAX_PAYLOAD: usize = 256 << 20;
const MAX_DESCRIPTORS: usize = 65_536;
/// Longest time for the peer to take or finish a frame; after it the peer counts as gone.
const STALL_LIMIT: Duration = Duration::from_secs(20);

/// Kind of a frame, with who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To the worker: a configuration to run, [`crate::handover::Handover`] with its listeners and logs; after [`Kind::Confine`].
    Configure,
    /// To the worker: new descriptors for the logs.
    Reopen,
    /// To the worker: finish what is under way, then exit.
    Quit,
    /// From the worker: the configuration runs and accepts; the payload of the first says what the process has given up.
    Ready,
    /// From the worker: the configuration was refused; the payload says why.
    Failed,
    /// From the worker: the last connection of an older configuration has ended.
    Drained,
    /// From the worker: a file to be kept ([`crate::state`]); the payload is its path and its bytes.
    Keep,
    /// From an old supervisor to a new one: listening sockets; the payload names them. Its number is known to older binaries.
    Listeners,
    /// From the worker: keys of tickets as they are now ([`crate::ticket_keys`]).
    TicketKeys,
    /// From the worker: a cache zone's folder to be made anew; the payload is its path.
    Folder,
    /// To the worker, before all else: what it makes of itself ([`crate::handover::Confinement`]).
    Confine,
    /// To the worker, and between supervisors of an upgrade: worker processes that serve QUIC at the same sockets
    /// ([`crate::handover::Processes`]).
    Processes,
}

impl Kind {
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

/// One frame as it was received.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    /// May hold keys: it is overwritten when it is dropped.
    pub(crate) payload: Zeroizing<Vec<u8>>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// One end of the channel.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: UnixStream,
    /// Lock for a whole frame: several threads of a worker may send.
    sending: Mutex<()>,
}

impl Channel {
    /// A connected pair, close-on-exec on both ends.
    pub(crate) fn pair() -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::new(ours)?, theirs))
    }

    /// Takes an end that was inherited from the parent process.
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(STALL_LIMIT))?;
        stream.set_read_timeout(Some(STALL_LIMIT))?;
        Ok(Self { stream, sending: Mutex::new(()) })
    }

    /// Sends one frame, waiting until the peer's buffer takes it.
    pub(crate) fn send(&self, kind: Kind, payload: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
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

    /// Receives one frame, waiting for the whole of it; `None` when the peer closed between frames.
    pub(crate) fn receive(&self) -> io::Result<Option<Message>> {
        let mut head = [0; HEAD_LENGTH];
        let mut descriptors = Vec::new();
        let first = self.receive_with(&mut head, &mut descriptors)?;
        if first == 0 {
            return Ok(None);
        }
        (&self.stream).read_exact(&mut head[first..])?;
        let Some(kind) = Kind::from_byte(head[0]) else {
            return Err(io::Error::other("unknown message"));
        };
        let length = field_at(&head, 1);
        let count = field_at(&head, 5);
        if length > MAX_PAYLOAD || count > MAX_DESCRIPTORS {
            return Err(io::Error::other("message out of bounds"));
        }
        while descriptors.len() < count {
            if self.receive_with(&mut [0], &mut descriptors)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let mut payload = Zeroizing::new(vec![0; length]);
        (&self.stream).read_exact(&mut payload)?;
        Ok(Some(Message { kind, payload, descriptors }))
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

impl AsFd for Channel {
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

    fn pair() -> (Channel, Channel) {
        let (ours, theirs) = Channel::pair().expect("pair");
        (ours, Channel::new(theirs).expect("channel"))
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
            ours.send(Kind::Configure, &vec![7; 3 << 20], &borrowed).expect("send");
            ours.send(Kind::Quit, b"", &[]).expect("send");
        });
        let message = theirs.receive().expect("receive").expect("message");
        assert_eq!((message.kind, message.payload.len()), (Kind::Configure, 3 << 20));
        assert_eq!(message.descriptors.len(), 450);
        for (number, descriptor) in message.descriptors.into_iter().enumerate() {
            let mut file = std::fs::File::from(descriptor);
            let mut text = String::new();
            file.seek(SeekFrom::Start(0)).expect("seek");
            file.read_to_string(&mut text).expect("read");
            assert_eq!(text, number.to_string());
        }
        assert_eq!(theirs.receive().expect("receive").expect("message").kind, Kind::Quit);
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
                        ours.send(Kind::Failed, &vec![sender; length], &[]).expect("send");
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
        (&ours.stream).write_all(&[Kind::Ready as u8, 0, 0]).expect("write");
        drop(ours);
        assert!(theirs.receive().is_err());
    }

    #[test]
    fn a_head_out_of_bounds_is_refused_before_memory_is_taken() {
        let (ours, theirs) = pair();
        (&ours.stream).write_all(&[Kind::Ready as u8, 255, 255, 255, 255, 0, 0, 0, 0]).expect("write");
        assert!(theirs.receive().is_err());
    }
}
