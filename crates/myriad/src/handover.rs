//! Payloads of control messages: the configuration with names for its descriptors, files, keys.
//!
//! A payload with secrets is a single allocation that is overwritten when dropped. It is serialized twice, the first
//! time to measure its length: a growing vector would leave copies of its contents in freed memory.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_serve::{QuicProcess, Standing};
use zeroize::Zeroizing;

use crate::control::{ControlChannel, MessageKind};
use crate::inbox::ReachableProcess;
use crate::ticket_keys::TicketKeys;
use myriad_cli::accounts::Account;
use myriad_cli::configuration::ResolvedHost;
use myriad_cli::paths::ServerPaths;

/// Payload of [`crate::control::MessageKind::Configure`]. The descriptors of the message are those of `listeners`, then
/// those of `logs`, in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerHandover {
    pub(crate) paths: ServerPaths,
    pub(crate) directives: Vec<u8>,
    pub(crate) files: HandedFiles,
    /// State files (such as certificates) that an earlier worker process had the supervisor store, with their paths.
    pub(crate) stored_state: Vec<(PathBuf, Vec<u8>)>,
    pub(crate) hosts: Vec<ResolvedHost>,
    pub(crate) listeners: Vec<String>,
    /// Secret for QUIC's stateless resets and connection IDs, and the number of the worker process that receives this
    /// payload.
    pub(crate) quic: (Zeroizing<Vec<u8>>, u8),
    pub(crate) ticket_keys: TicketKeys,
    pub(crate) logs: Vec<PathBuf>,
}

/// Contents of all files of a configuration, as read by the supervisor. They are serialized into a single allocation
/// that all worker processes receive, however many files there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedFiles(Arc<Zeroizing<Vec<u8>>>);

/// Two lists of files with their contents: the files of the configuration, then certificates and private keys, which
/// the worker has no right to read from disk.
pub(crate) type UnpackedFiles = [Vec<(PathBuf, Vec<u8>)>; 2];

impl HandedFiles {
    /// Serializes the files of the configuration, then the certificates and private keys.
    pub(crate) fn pack<'a>(
        configuration: impl Iterator<Item = (&'a Path, &'a [u8])>,
        tls_files: impl Iterator<Item = (&'a Path, &'a [u8])>,
    ) -> Self {
        let lists = [configuration.collect::<Vec<_>>(), tls_files.collect()];
        let packed = encode_payload(|out| {
            for files in &lists {
                put_count(out, files.len());
                for (path, bytes) in files {
                    put_file(out, path, bytes);
                }
            }
        });
        Self(Arc::new(packed))
    }

    /// Parses both lists of files. Returns `None` for bytes that [`HandedFiles::pack`] did not write.
    pub(crate) fn unpack(&self) -> Option<UnpackedFiles> {
        let mut reader = PayloadReader { rest: &self.0 };
        Some([reader.list(PayloadReader::file)?, reader.list(PayloadReader::file)?])
    }
}

/// Payload of [`crate::control::MessageKind::Confine`]: user, limits, working directory and sandbox setting that a
/// worker process applies before it reads the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// Account to which the process changes; `None` to remain with the present account.
    pub(crate) account: Option<Account>,
    /// Value of `worker_rlimit_nofile`; `None` if it is not set.
    pub(crate) descriptors: Option<u64>,
    /// Value of `worker_rlimit_core`, in bytes; `None` if it is not set.
    pub(crate) core: Option<u64>,
    /// Value of `working_directory`; `None` if it is not set.
    pub(crate) folder: Option<PathBuf>,
    /// Value of `sandbox`: true if the process drops its rights.
    pub(crate) sandbox: bool,
}

impl Confinement {
    /// Parses a payload. Returns `None` for bytes that [`Confinement::encode`] did not write.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        PayloadReader { rest: bytes }.confinement()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let account = self.account.as_ref();
        let ids = account
            .into_iter()
            .flat_map(|account| [account.uid, account.gid].into_iter().chain(account.groups.iter().copied()));
        let ids: Vec<u32> = ids.collect();
        put_count(&mut out, ids.len());
        out.extend(ids.iter().flat_map(|id| id.to_be_bytes()));
        for limit in [self.descriptors, self.core] {
            put_count(&mut out, usize::from(limit.is_some()));
            if let Some(limit) = limit {
                put_wide(&mut out, limit);
            }
        }
        put_path(&mut out, self.folder.as_deref().unwrap_or(Path::new("")));
        put_count(&mut out, usize::from(self.sandbox));
        out
    }
}

impl WorkerHandover {
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        encode_payload(|out| self.write(out))
    }

    fn write(&self, out: &mut dyn PayloadWriter) {
        put_path(out, &self.paths.prefix);
        put_path(out, &self.paths.configuration);
        put_path(out, self.paths.error_log.as_deref().unwrap_or(Path::new("")));
        put(out, &self.directives);
        put(out, &self.files.0);
        put_count(out, self.stored_state.len());
        for (path, bytes) in &self.stored_state {
            put_file(out, path, bytes);
        }
        put_count(out, self.hosts.len());
        for ((name, port), addresses) in &self.hosts {
            put(out, name.as_bytes());
            put_count(out, usize::from(*port));
            put_all(out, addresses.iter().map(SocketAddr::to_string));
        }
        put_all(out, self.listeners.iter());
        put(out, &self.quic.0);
        put_count(out, usize::from(self.quic.1));
        put_ticket_keys(out, &self.ticket_keys);
        put_paths(out, self.logs.iter().map(PathBuf::as_path));
    }

    /// Parses a payload. Returns `None` for bytes that [`WorkerHandover::encode`] did not write.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = PayloadReader { rest: bytes };
        let prefix = reader.path()?;
        let configuration = reader.path()?;
        let error_log = Some(reader.path()?).filter(|path| !path.as_os_str().is_empty());
        let directives = reader.bytes()?.to_vec();
        let files = HandedFiles(Arc::new(reader.secret()?));
        let stored_state = reader.list(PayloadReader::file)?;
        let hosts = reader.list(|reader| {
            let host = (reader.text()?, u16::try_from(reader.count()?).ok()?);
            Some((host, reader.list(|reader| reader.text()?.parse().ok())?))
        })?;
        let listeners = reader.list(PayloadReader::text)?;
        let quic = (reader.secret()?, u8::try_from(reader.count()?).ok()?);
        let ticket_keys = reader.ticket_keys()?;
        let logs = reader.list(PayloadReader::path)?;
        let paths = ServerPaths { prefix, configuration, error_log };
        Some(Self { paths, directives, files, stored_state, hosts, listeners, quic, ticket_keys, logs })
    }
}

/// Serializes a list of paths, for example as the payload of [`crate::control::MessageKind::Reopen`].
pub(crate) fn encode_paths<'a>(paths: impl ExactSizeIterator<Item = &'a Path>) -> Vec<u8> {
    let mut out = Vec::new();
    put_paths(&mut out, paths);
    out
}

/// Parses the paths that [`encode_paths`] wrote; `None` for other bytes.
pub(crate) fn decode_paths(bytes: &[u8]) -> Option<Vec<PathBuf>> {
    PayloadReader { rest: bytes }.list(PayloadReader::path)
}

/// Serializes the payload of [`crate::control::MessageKind::Keep`]: a file with its path.
pub(crate) fn encode_file(path: &Path, bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    encode_payload(|out| put_file(out, path, bytes))
}

/// Parses the file that [`encode_file`] wrote; `None` for other bytes.
pub(crate) fn decode_file(bytes: &[u8]) -> Option<(PathBuf, Vec<u8>)> {
    PayloadReader { rest: bytes }.file()
}

/// Data that an old binary sends to a new one together with the sockets. Its format must not change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LegacyHandover {
    /// Names of the listeners, in the order of their sockets.
    pub(crate) names: Vec<String>,
    /// Secret for QUIC's stateless resets and connection IDs.
    pub(crate) secret: Zeroizing<Vec<u8>>,
    pub(crate) ticket_keys: TicketKeys,
    /// Number of upgrades before the new supervisor.
    pub(crate) depth: u32,
}

impl LegacyHandover {
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        encode_payload(|out| {
            put_all(out, self.names.iter());
            put(out, &self.secret);
            put_ticket_keys(out, &self.ticket_keys);
            put_count(out, self.depth as usize);
        })
    }

    /// Parses the bytes of [`LegacyHandover::encode`]. Older binaries send no secret, no keys or no depth; these are
    /// then empty, and the depth is 1. Returns `None` if the names are invalid.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = PayloadReader { rest: bytes };
        let names = reader.list(PayloadReader::text)?;
        let secret = reader.secret().unwrap_or_default();
        let ticket_keys = reader.ticket_keys().unwrap_or_default();
        let depth = reader.count().map_or(1, |depth| depth as u32);
        Some(Self { names, secret, ticket_keys, depth })
    }
}

/// Payload of [`crate::control::MessageKind::Processes`]: worker processes that serve QUIC on the same sockets.
///
/// The descriptors are the receiving endpoint of the receiver's own inbox, if the message contains it, then the sending
/// endpoints of the other processes' inboxes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QuicProcesses {
    /// Process that receives the message; `None` if a supervisor receives it.
    pub(crate) own: Option<QuicProcess>,
    /// True if the first descriptor is the receiving endpoint of the receiver's own inbox.
    pub(crate) has_inbox: bool,
    pub(crate) others: Vec<QuicProcess>,
}

impl QuicProcesses {
    /// Sends the list of processes. `own` is the receiving process, with the receiving endpoint of its inbox unless
    /// that was sent before; `None` for a supervisor as receiver.
    pub(crate) fn send(
        channel: &ControlChannel,
        own: Option<(&QuicProcess, Option<BorrowedFd<'_>>)>,
        others: &[(QuicProcess, BorrowedFd<'_>)],
    ) -> io::Result<()> {
        let inbox = own.and_then(|(_, inbox)| inbox);
        let descriptors: Vec<_> = inbox.into_iter().chain(others.iter().map(|(_, way_in)| *way_in)).collect();
        let mut out = Vec::new();
        put_processes(&mut out, own.map(|(own, _)| own).into_iter());
        put_count(&mut out, usize::from(inbox.is_some()));
        put_processes(&mut out, others.iter().map(|(process, _)| process));
        channel.send(MessageKind::Processes, &out, &descriptors)
    }

    /// Parses a payload. Returns `None` for bytes that [`QuicProcesses::send`] did not write.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = PayloadReader { rest: bytes };
        let own = reader.list(PayloadReader::process)?.pop();
        let has_inbox = reader.count()? == 1;
        Some(Self { own, has_inbox, others: reader.list(PayloadReader::process)? })
    }

    /// Combines each of the other processes with the sending endpoint of its inbox, from `ways_in`. Returns `None` if
    /// the numbers of processes and endpoints differ.
    pub(crate) fn reachable(self, ways_in: Vec<OwnedFd>) -> Option<Vec<ReachableProcess>> {
        let reachable = |(process, way_in)| ReachableProcess { process, sender: way_in };
        (self.others.len() == ways_in.len())
            .then(|| self.others.into_iter().zip(ways_in).map(reachable).collect())
    }
}

fn put_processes<'a>(out: &mut dyn PayloadWriter, processes: impl ExactSizeIterator<Item = &'a QuicProcess>) {
    put_count(out, processes.len());
    for process in processes {
        put_count(out, process.number.into());
        put_wide(out, process.rank);
        put_count(out, process.standing as usize);
        put_count(out, process.listeners.len());
        process.listeners.iter().for_each(|listener| put_wide(out, *listener));
    }
}

fn put_wide(out: &mut dyn PayloadWriter, figure: u64) {
    out.put(&figure.to_be_bytes());
}

/// Serializes the payload of [`crate::control::MessageKind::TicketKeys`]: the record of the keys, and the lifetime of
/// their tickets.
pub(crate) fn encode_ticket_key(lifetime_s: u32, record: &[u8]) -> Zeroizing<Vec<u8>> {
    encode_payload(|out| put_ticket_key(out, lifetime_s, record))
}

/// Parses the lifetime in seconds and the record that [`encode_ticket_key`] wrote; `None` for other bytes.
pub(crate) fn decode_ticket_key(bytes: &[u8]) -> Option<(u32, Zeroizing<Vec<u8>>)> {
    PayloadReader { rest: bytes }.ticket_key()
}

/// Destination of a serialized payload: a buffer, or a counter of its length.
trait PayloadWriter {
    fn put(&mut self, bytes: &[u8]);
}

impl PayloadWriter for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Destination that only counts the bytes.
struct LengthCounter(usize);

impl PayloadWriter for LengthCounter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Serializes a payload into a single allocation.
fn encode_payload(write: impl Fn(&mut dyn PayloadWriter)) -> Zeroizing<Vec<u8>> {
    let mut length = LengthCounter(0);
    write(&mut length);
    let mut out = Zeroizing::new(Vec::with_capacity(length.0));
    write(&mut *out);
    out
}

fn put_ticket_keys(out: &mut dyn PayloadWriter, keys: &TicketKeys) {
    let records = keys.iter();
    put_count(out, records.len());
    records.for_each(|(lifetime_s, record)| put_ticket_key(out, lifetime_s, record));
}

fn put_ticket_key(out: &mut dyn PayloadWriter, lifetime_s: u32, record: &[u8]) {
    put_count(out, lifetime_s as usize);
    put(out, record);
}

fn put_count(out: &mut dyn PayloadWriter, count: usize) {
    out.put(&(count as u32).to_be_bytes());
}

fn put(out: &mut dyn PayloadWriter, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.put(bytes);
}

fn put_path(out: &mut dyn PayloadWriter, path: &Path) {
    put(out, path.as_os_str().as_bytes());
}

fn put_file(out: &mut dyn PayloadWriter, path: &Path, bytes: &[u8]) {
    put_path(out, path);
    put(out, bytes);
}

fn put_paths<'a>(out: &mut dyn PayloadWriter, paths: impl ExactSizeIterator<Item = &'a Path>) {
    put_count(out, paths.len());
    paths.for_each(|path| put_path(out, path));
}

fn put_all<S: AsRef<str>>(out: &mut dyn PayloadWriter, texts: impl ExactSizeIterator<Item = S>) {
    put_count(out, texts.len());
    texts.for_each(|text| put(out, text.as_ref().as_bytes()));
}

struct PayloadReader<'a> {
    rest: &'a [u8],
}

impl<'a> PayloadReader<'a> {
    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_be_bytes(*count) as usize)
    }

    fn u64_value(&mut self) -> Option<u64> {
        let (figure, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_be_bytes(*figure))
    }

    fn process(&mut self) -> Option<QuicProcess> {
        let number = u8::try_from(self.count()?).ok()?;
        let rank = self.u64_value()?;
        let standing = self.count()?;
        let all = [Standing::Starting, Standing::Leaving, Standing::Serving];
        let standing = all.into_iter().find(|known| *known as usize == standing)?;
        Some(QuicProcess { number, rank, standing, listeners: self.list(Self::u64_value)? })
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.bytes().map(|bytes| OsString::from_vec(bytes.to_vec()).into())
    }

    fn confinement(&mut self) -> Option<Confinement> {
        let ids = self.list(|reader| reader.count().map(|id| id as u32))?;
        let account = match ids.as_slice() {
            [uid, gid, groups @ ..] => Some(Account { uid: *uid, gid: *gid, groups: groups.to_vec() }),
            _ => None,
        };
        Some(Confinement {
            account,
            descriptors: self.list(Self::u64_value)?.pop(),
            core: self.list(Self::u64_value)?.pop(),
            folder: Some(self.path()?).filter(|path| !path.as_os_str().is_empty()),
            sandbox: self.count()? != 0,
        })
    }

    fn file(&mut self) -> Option<(PathBuf, Vec<u8>)> {
        Some((self.path()?, self.bytes()?.to_vec()))
    }

    fn secret(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.bytes().map(|bytes| bytes.to_vec().into())
    }

    fn ticket_key(&mut self) -> Option<(u32, Zeroizing<Vec<u8>>)> {
        Some((u32::try_from(self.count()?).ok()?, self.secret()?))
    }

    fn ticket_keys(&mut self) -> Option<TicketKeys> {
        self.list(Self::ticket_key).map(TicketKeys::from_records)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn sample() -> WorkerHandover {
        WorkerHandover {
            paths: ServerPaths { prefix: "/p".into(), configuration: "/p/c".into(), error_log: None },
            directives: b"daemon off;".to_vec(),
            files: HandedFiles::pack(
                [(Path::new("/p/c"), &b"events {}\n"[..]), (Path::new("/p/\u{fffd}"), &[0, 255])].into_iter(),
                [(Path::new("/p/key.pem"), &b"key"[..])].into_iter(),
            ),
            stored_state: vec![("/p/acme/account.key".into(), b"kept".to_vec())],
            hosts: vec![(
                ("localhost".into(), 80),
                vec!["127.0.0.1:80".parse().expect("address"), "[::1]:80".parse().expect("address")],
            )],
            listeners: vec!["127.0.0.1:80".into(), "unix:/s".into()],
            quic: (vec![1, 2, 3].into(), 255),
            ticket_keys: TicketKeys::from_records([(300, vec![4; 104].into())]),
            logs: vec!["/l/error.log".into()],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let sample = sample();
        assert_eq!(WorkerHandover::decode(&sample.encode()).as_ref(), Some(&sample));
        let [configuration, tls_files] = sample.files.unpack().expect("both lists");
        assert_eq!(configuration[1], ("/p/\u{fffd}".into(), vec![0, 255]));
        assert_eq!(tls_files, [("/p/key.pem".into(), b"key".to_vec())]);
        let bare = WorkerHandover { stored_state: vec![], hosts: vec![], logs: vec![], ..sample };
        assert_eq!(WorkerHandover::decode(&bare.encode()), Some(bare));
    }

    #[test]
    fn what_a_worker_makes_of_itself_is_read_whole_or_not_at_all() {
        let confinement = Confinement {
            account: Some(Account { uid: 33, gid: 34, groups: vec![34, 110] }),
            descriptors: Some(1 << 40),
            core: None,
            folder: Some("/w".into()),
            sandbox: true,
        };
        let whole = confinement.encode();
        assert_eq!(Confinement::decode(&whole), Some(confinement));
        for length in 0..whole.len() {
            assert_eq!(Confinement::decode(&whole[..length]), None, "{length}");
        }
        let bare = Confinement::default();
        assert_eq!(Confinement::decode(&bare.encode()), Some(bare));
    }

    #[test]
    fn payload_is_written_where_there_is_room_for_all_of_it() {
        for payload in
            [sample().encode(), encode_file(Path::new("/f"), &[1; 5000]), encode_ticket_key(300, &[2; 104])]
        {
            assert_eq!(payload.len(), payload.capacity());
        }
    }

    #[test]
    fn a_new_binary_understands_old_ones() {
        let legacy = LegacyHandover {
            names: vec!["127.0.0.1:80".into()],
            secret: vec![7; 32].into(),
            ticket_keys: TicketKeys::from_records([(300, vec![1].into())]),
            depth: 7,
        };
        let whole = legacy.encode();
        assert_eq!(LegacyHandover::decode(&whole).as_ref(), Some(&legacy));
        let before_depth =
            LegacyHandover::decode(&whole[..whole.len() - 4]).expect("a handover without the depth");
        assert_eq!(before_depth.depth, 1);
        let before_keys = LegacyHandover::decode(&whole[..whole.len() - 17]).expect("names and secret");
        assert_eq!(before_keys, LegacyHandover { ticket_keys: TicketKeys::default(), depth: 1, ..legacy });
        assert_eq!(LegacyHandover::decode(&whole[..20]).expect("names").secret[..], [] as [u8; 0]);
    }

    #[test]
    fn processes_arrive_with_the_ways_into_their_inboxes() {
        let process = |number| QuicProcess {
            number,
            rank: 1 << 40,
            standing: Standing::Leaving,
            listeners: vec![9, 1],
        };
        let (channel, theirs) = ControlChannel::pair().expect("a pair");
        let theirs = ControlChannel::new(theirs).expect("a channel");
        let inboxes = [(); 2].map(|()| crate::inbox::new_inbox().expect("an inbox"));
        let others = [(process(1), inboxes[0].0.as_fd()), (process(2), inboxes[1].0.as_fd())];
        let own = process(3);
        QuicProcesses::send(&channel, Some((&own, Some(inboxes[0].1.as_fd()))), &others).expect("sent");
        let mut message = theirs.receive().expect("received").expect("a message");
        let decoded = QuicProcesses::decode(&message.payload).expect("processes");
        assert_eq!(
            decoded,
            QuicProcesses { own: Some(own), has_inbox: true, others: vec![process(1), process(2)] }
        );
        for length in 0..message.payload.len() {
            assert_eq!(QuicProcesses::decode(&message.payload[..length]), None, "{length}");
        }
        message.descriptors.remove(0);
        let all = decoded.reachable(message.descriptors).expect("a descriptor for each");
        drop(inboxes.map(|(_, read)| read));
        assert!(all.iter().all(|reachable| !reachable.is_alive()));
    }

    #[test]
    fn a_cut_message_is_refused_at_every_length() {
        let whole = sample().encode();
        for length in 0..whole.len() {
            assert_eq!(WorkerHandover::decode(&whole[..length]), None, "{length}");
        }
    }
}
