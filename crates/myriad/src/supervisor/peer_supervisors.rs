//! Supervisors before and after this one in an upgrade, which share its sockets, and their worker processes that serve
//! QUIC.
//!
//! ```text
//!      old supervisor <--channel--> this one <--channel--> new supervisor
//!         '- workers                  '- workers              '- workers: each receives all, with their inboxes
//! ```
//!
//! Changes on one side are forwarded to the other side. Each supervisor therefore has the complete list, although it
//! has channels only to the adjacent supervisors.

use std::os::fd::{AsFd, BorrowedFd};

use myriad_serve::{QuicProcess, Standing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::{ControlChannel, MessageKind};
use crate::handover::QuicProcesses;
use crate::inbox::ReachableProcess;

/// Number of low bits of a worker's rank, which count the worker processes that the same supervisor started before; the
/// higher bits are the number of earlier supervisors.
const DEPTH_SHIFT: u32 = 32;

/// Worker process, of this or another supervisor, with the sending endpoint of its inbox.
type OwnProcess<'a> = (QuicProcess, BorrowedFd<'a>);

/// Supervisors on one side of this one in a chain of upgrades: either the older or the newer ones.
#[derive(Debug, Default)]
struct SupervisorSide {
    /// Channel to the adjacent supervisor; `None` if it does not run or does not support these messages.
    channel: Option<ControlChannel>,
    /// Worker processes of the supervisors on this side.
    processes: Vec<ReachableProcess>,
    /// List of processes that was last sent to the adjacent supervisor; `None` if none was sent.
    last_sent: Option<Vec<QuicProcess>>,
}

impl SupervisorSide {
    /// Sends the adjacent supervisor on this side the processes in `all`, unless the same list was sent before:
    /// otherwise two supervisors would reply to each other forever.
    fn send_processes(&mut self, all: &[OwnProcess<'_>]) {
        let Some(channel) = &self.channel else { return };
        let processes: Vec<QuicProcess> = all.iter().map(|(process, _)| process.clone()).collect();
        if self.last_sent.as_ref() == Some(&processes) {
            return;
        }
        if QuicProcesses::send(channel, None, all).is_err() {
            self.channel = None;
        }
        self.last_sent = Some(processes);
    }
}

/// Age of a supervisor in a chain of upgrades, relative to the supervisor in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideAge {
    Older,
    Newer,
}

/// Older and newer supervisors, and their worker processes.
#[derive(Debug, Default)]
pub(super) struct PeerSupervisors {
    /// Number of supervisors before this one in a chain of upgrades; 0 for the first.
    depth: u32,
    /// Number of worker processes that this supervisor has started.
    started: u32,
    older: SupervisorSide,
    newer: SupervisorSide,
}

impl PeerSupervisors {
    /// Creates the state of a supervisor that an older supervisor has started; `depth` is the number of supervisors
    /// before it, `older` are their worker processes.
    pub(super) fn for_successor(depth: u32, channel: ControlChannel, older: Vec<ReachableProcess>) -> Self {
        let older = SupervisorSide { channel: Some(channel), processes: older, last_sent: None };
        Self { depth, older, ..Self::default() }
    }

    /// Returns the depth of a successor: the number of supervisors before it.
    pub(super) fn next_depth(&self) -> u32 {
        self.depth.saturating_add(1)
    }

    /// Returns number and rank of the next worker process; `own` are the numbers of this supervisor's processes.
    ///
    /// No running process uses the number, unless all 256 are in use. The search starts at a number derived from this
    /// process's ID, so that connection IDs of an earlier server most likely belong to no process.
    pub(super) fn next_name(&mut self, own: &[u8]) -> (u8, u64) {
        let taken =
            |number: &u8| own.contains(number) || self.others().any(|it| it.process.number == *number);
        let first = (std::process::id() as u8).wrapping_add(self.started as u8);
        let number = (0..=u8::MAX).map(|step| first.wrapping_add(step)).find(|number| !taken(number));
        let rank = u64::from(self.depth) << DEPTH_SHIFT | u64::from(self.started);
        self.started = self.started.wrapping_add(1);
        (number.unwrap_or(first), rank)
    }

    fn others(&self) -> impl Iterator<Item = &ReachableProcess> {
        self.older.processes.iter().chain(&self.newer.processes)
    }

    /// Returns the worker processes of all other supervisors.
    pub(super) fn processes(&self) -> Vec<OwnProcess<'_>> {
        borrowed_processes(self.others())
    }

    /// Returns the worker processes of this supervisor (`of_this`) and of older ones, which a successor receives before
    /// it starts a worker process.
    pub(super) fn processes_for_successor<'a>(&'a self, of_this: Vec<OwnProcess<'a>>) -> Vec<OwnProcess<'a>> {
        of_this.into_iter().chain(borrowed_processes(&self.older.processes)).collect()
    }

    /// Sets the channel to the successor that has been started; `None` after it has exited.
    pub(super) fn set_successor(&mut self, channel: Option<ControlChannel>) {
        self.newer.channel = channel;
        self.newer.last_sent = None;
        self.end_without_channel(SideAge::Newer);
    }

    /// Returns the open channels to adjacent supervisors.
    pub(super) fn channels(&self) -> impl Iterator<Item = (SideAge, &ControlChannel)> {
        let sides = [(SideAge::Older, &self.older), (SideAge::Newer, &self.newer)];
        sides.into_iter().filter_map(|(age, side)| Some((age, side.channel.as_ref()?)))
    }

    /// Receives all messages of adjacent supervisors that have arrived.
    pub(super) fn receive_pending(&mut self) {
        for age in [SideAge::Older, SideAge::Newer] {
            while self.side(age).channel.as_ref().is_some_and(has_message) {
                self.receive_message(age);
            }
        }
    }

    /// Receives one message of a supervisor whose channel is readable, and stores the processes that it lists. Ignores
    /// other messages, and lists that cannot be decoded. If the channel is closed or receiving fails (incomplete, too
    /// long or unknown message), closes the channel and marks the processes of that side as leaving.
    pub(super) fn receive_message(&mut self, age: SideAge) {
        let side = self.side(age);
        let received = side.channel.as_ref().map(ControlChannel::receive);
        match received {
            Some(Ok(Some(message))) if message.kind == MessageKind::Processes => {
                let decoded = QuicProcesses::decode(&message.payload);
                if let Some(processes) =
                    decoded.and_then(|processes| processes.reachable(message.descriptors))
                {
                    side.processes = processes;
                }
            }
            Some(Ok(Some(_))) => {}
            Some(Ok(None) | Err(_)) | None => {
                side.channel = None;
                self.end_without_channel(age);
            }
        }
    }

    /// Sends the older adjacent supervisor the processes of this supervisor and of the newer ones, and vice versa.
    /// First removes processes that have exited, except those of supervisors after the successor.
    pub(super) fn send_to_adjacent(&mut self, of_this: &[OwnProcess<'_>]) {
        self.older.processes.retain(ReachableProcess::is_alive);
        // Processes of later supervisors than the successor are reported only by the successor. Once it has exited,
        // they stay listed even if they have exited: otherwise a leaving process would conclude that no process reads
        // the sockets.
        let next = self.next_depth();
        self.newer.processes.retain(|it| it.is_alive() || depth_of_rank(it.process.rank) > next);
        self.older.send_processes(&processes_with_side(of_this, &self.newer));
        self.newer.send_processes(&processes_with_side(of_this, &self.older));
        self.end_without_channel(SideAge::Older);
        self.end_without_channel(SideAge::Newer);
    }

    /// Marks the worker processes of a side without a channel as leaving, because they shut down after their supervisor
    /// has exited.
    fn end_without_channel(&mut self, age: SideAge) {
        let side = self.side(age);
        if side.channel.is_none() {
            for reachable in &mut side.processes {
                reachable.process.standing = Standing::Leaving;
            }
        }
    }

    fn side(&mut self, age: SideAge) -> &mut SupervisorSide {
        match age {
            SideAge::Older => &mut self.older,
            SideAge::Newer => &mut self.newer,
        }
    }
}

/// Returns the depth of the supervisor that started the worker process with this rank.
fn depth_of_rank(rank: u64) -> u32 {
    (rank >> DEPTH_SHIFT) as u32
}

/// Returns whether a message has arrived on the channel or the channel is closed.
fn has_message(channel: &ControlChannel) -> bool {
    let mut polled = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Returns the worker processes of this supervisor and of one side.
fn processes_with_side<'a>(of_this: &[OwnProcess<'a>], side: &'a SupervisorSide) -> Vec<OwnProcess<'a>> {
    of_this.iter().cloned().chain(borrowed_processes(&side.processes)).collect()
}

fn borrowed_processes<'a>(all: impl IntoIterator<Item = &'a ReachableProcess>) -> Vec<OwnProcess<'a>> {
    all.into_iter().map(|it| (it.process.clone(), it.sender.as_fd())).collect()
}

#[cfg(test)]
mod tests {
    use Standing::{Leaving, Serving};

    use super::*;
    use crate::inbox;

    fn process(number: u8) -> QuicProcess {
        QuicProcess { number, rank: 0, standing: Standing::Serving, listeners: vec![1] }
    }

    fn numbers(kin: &PeerSupervisors) -> Vec<(u8, Standing)> {
        kin.processes().iter().map(|(process, _)| (process.number, process.standing)).collect()
    }

    #[test]
    fn each_of_three_knows_all_processes_and_numbers_are_not_given_twice() {
        let (to_second, second) = ControlChannel::pair().expect("a pair");
        let (to_third, third) = ControlChannel::pair().expect("a pair");
        let successor = |depth, stream| {
            PeerSupervisors::for_successor(depth, ControlChannel::new(stream).expect("a channel"), Vec::new())
        };
        let (mut first, mut second, mut third) =
            (PeerSupervisors::default(), successor(1, second), successor(2, third));
        first.set_successor(Some(to_second));
        second.set_successor(Some(to_third));
        let inboxes = [(); 3].map(|()| inbox::new_inbox().expect("an inbox"));
        let of = |at: usize| vec![(process(at as u8), inboxes[at].0.as_fd())];
        first.send_to_adjacent(&of(0));
        second.receive_message(SideAge::Older);
        second.send_to_adjacent(&of(1));
        third.receive_message(SideAge::Older);
        third.send_to_adjacent(&of(2));
        second.receive_message(SideAge::Newer);
        second.send_to_adjacent(&of(1));
        first.receive_message(SideAge::Newer);
        first.receive_message(SideAge::Newer);
        assert_eq!(numbers(&first), [(1, Serving), (2, Serving)]);
        assert_eq!(numbers(&second), [(0, Serving), (2, Serving)]);
        assert_eq!(numbers(&third), [(1, Serving), (0, Serving)]);
        assert!(third.next_name(&[2]).1 > second.next_name(&[1]).1);
        for _ in 0..512 {
            assert!(third.next_name(&[2]).0 > 2);
        }
        // The second supervisor exits before the first.
        drop(second);
        third.receive_message(SideAge::Older);
        assert_eq!(numbers(&third), [(1, Leaving), (0, Leaving)]);
        let [_, gone, _] = inboxes;
        drop(gone);
        third.send_to_adjacent(&[]);
        assert_eq!(numbers(&third), [(0, Leaving)]);
    }

    #[test]
    fn process_known_through_departed_supervisor_is_remembered_after_its_exit() {
        let (to_second, second) = ControlChannel::pair().expect("a pair");
        let mut first = PeerSupervisors::default();
        first.set_successor(Some(to_second));
        let second = ControlChannel::new(second).expect("a channel");
        let of = |number: u8| {
            let (way_in, inbox) = inbox::new_inbox().expect("an inbox");
            (QuicProcess { rank: u64::from(number) << DEPTH_SHIFT, ..process(number) }, way_in, inbox)
        };
        let (next, beyond) = (of(1), of(2));
        let sent = [(next.0.clone(), next.1.as_fd()), (beyond.0.clone(), beyond.1.as_fd())];
        QuicProcesses::send(&second, None, &sent).expect("a message");
        first.receive_message(SideAge::Newer);
        drop(second);
        first.receive_message(SideAge::Newer);
        drop(next);
        drop(beyond);
        first.send_to_adjacent(&[]);
        // The third supervisor may have started another one, whose worker reads the sockets.
        assert_eq!(numbers(&first), [(2, Leaving)]);
    }
}
