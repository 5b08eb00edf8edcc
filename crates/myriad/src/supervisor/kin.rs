//! Supervisors before and after this one that have the same sockets, and their worker processes that serve QUIC.
//!
//! ```text
//!   old supervisor <--channel--> this one <--channel--> new supervisor
//!        '- workers                 '- workers              '- workers: each receives all, with their inboxes
//! ```
//!
//! Changes on one side are forwarded to the other. Each supervisor therefore has the complete list, although it only
//! has channels to the adjacent supervisors.

use std::os::fd::{AsFd, BorrowedFd};

use myriad_serve::{QuicProcess, Standing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::{Channel, Kind};
use crate::handover::Processes;
use crate::inbox::Reachable;

/// Position in a rank of the number of earlier supervisors. The lower bits count the worker processes that the same
/// supervisor had started before.
const DEPTH_SHIFT: u32 = 32;

/// Worker process of this supervisor, with the sending endpoint of its inbox.
type Own<'a> = (QuicProcess, BorrowedFd<'a>);

/// Older supervisors, or newer ones.
#[derive(Debug, Default)]
struct Side {
    /// Channel to the adjacent supervisor; `None` if no such supervisor runs or it does not support these messages.
    channel: Option<Channel>,
    /// Worker processes on this side.
    processes: Vec<Reachable>,
    /// List that was last sent to the adjacent supervisor.
    told: Option<Vec<QuicProcess>>,
}

impl Side {
    /// Sends the adjacent supervisor on this side all processes on the other side, unless that list was sent before:
    /// otherwise two supervisors would reply to each other forever.
    fn tell(&mut self, all: &[Own<'_>]) {
        let Some(channel) = &self.channel else { return };
        let processes: Vec<QuicProcess> = all.iter().map(|(process, _)| process.clone()).collect();
        if self.told.as_ref() == Some(&processes) {
            return;
        }
        if Processes::send(channel, None, all).is_err() {
            self.channel = None;
        }
        self.told = Some(processes);
    }
}

/// Side of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Older,
    Newer,
}

/// Other supervisors.
#[derive(Debug, Default)]
pub(super) struct Kin {
    /// Number of supervisors before this one.
    depth: u32,
    /// Number of worker processes that this supervisor has started.
    started: u32,
    older: Side,
    newer: Side,
}

impl Kin {
    /// Creates the state of a supervisor that an older one started.
    pub(super) fn of_heir(depth: u32, channel: Channel, older: Vec<Reachable>) -> Self {
        let older = Side { channel: Some(channel), processes: older, told: None };
        Self { depth, older, ..Self::default() }
    }

    /// Returns the number of supervisors before the next one.
    pub(super) fn next_depth(&self) -> u32 {
        self.depth.saturating_add(1)
    }

    /// Returns number and rank of the next worker process.
    ///
    /// The number is unused by running processes. The first is derived from the number of this process, so that
    /// connection IDs of an earlier server most likely name no process.
    pub(super) fn next_name(&mut self, own: &[u8]) -> (u8, u64) {
        let taken =
            |number: &u8| own.contains(number) || self.others().any(|it| it.process.number == *number);
        let first = (std::process::id() as u8).wrapping_add(self.started as u8);
        let number = (0..=u8::MAX).map(|step| first.wrapping_add(step)).find(|number| !taken(number));
        let rank = u64::from(self.depth) << DEPTH_SHIFT | u64::from(self.started);
        self.started = self.started.wrapping_add(1);
        (number.unwrap_or(first), rank)
    }

    fn others(&self) -> impl Iterator<Item = &Reachable> {
        self.older.processes.iter().chain(&self.newer.processes)
    }

    /// Returns the worker processes of the other supervisors.
    pub(super) fn processes(&self) -> Vec<Own<'_>> {
        own(self.others())
    }

    /// Returns the processes that the next supervisor receives before it starts a worker process.
    pub(super) fn for_heir<'a>(&'a self, of_this: Vec<Own<'a>>) -> Vec<Own<'a>> {
        of_this.into_iter().chain(own(&self.older.processes)).collect()
    }

    /// Sets the channel to the next supervisor, which runs from now on; `None` after it has exited.
    pub(super) fn set_heir(&mut self, channel: Option<Channel>) {
        self.newer.channel = channel;
        self.newer.told = None;
        self.end_without_channel(Age::Newer);
    }

    /// Returns the open channels.
    pub(super) fn channels(&self) -> impl Iterator<Item = (Age, &Channel)> {
        let sides = [(Age::Older, &self.older), (Age::Newer, &self.newer)];
        sides.into_iter().filter_map(|(age, side)| Some((age, side.channel.as_ref()?)))
    }

    /// Receives all pending messages.
    pub(super) fn catch_up(&mut self) {
        for age in [Age::Older, Age::Newer] {
            while self.side(age).channel.as_ref().is_some_and(speaks) {
                self.hear(age);
            }
        }
    }

    /// Receives one message of a supervisor whose channel is readable.
    pub(super) fn hear(&mut self, age: Age) {
        let side = self.side(age);
        let received = side.channel.as_ref().map(Channel::receive);
        match received {
            Some(Ok(Some(message))) if message.kind == Kind::Processes => {
                let told = Processes::decode(&message.payload);
                if let Some(processes) = told.and_then(|told| told.reachable(message.descriptors)) {
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

    /// Sends each adjacent supervisor the processes on this side of it.
    pub(super) fn tell(&mut self, of_this: &[Own<'_>]) {
        self.older.processes.retain(Reachable::lives);
        // Further supervisors may follow the next one, and only the next one reports their new processes. After it is
        // gone, those processes stay listed even if they have exited: otherwise a leaving process would conclude that
        // no process reads the sockets.
        let next = self.next_depth();
        self.newer.processes.retain(|it| it.lives() || depth_of(it.process.rank) > next);
        self.older.tell(&with(of_this, &self.newer));
        self.newer.tell(&with(of_this, &self.older));
        self.end_without_channel(Age::Older);
        self.end_without_channel(Age::Newer);
    }

    /// Marks the worker processes of a supervisor without a channel as leaving, because they shut down after its exit.
    /// They are removed once they have exited, too.
    fn end_without_channel(&mut self, age: Age) {
        let side = self.side(age);
        if side.channel.is_none() {
            for reachable in &mut side.processes {
                reachable.process.standing = Standing::Leaving;
            }
        }
    }

    fn side(&mut self, age: Age) -> &mut Side {
        match age {
            Age::Older => &mut self.older,
            Age::Newer => &mut self.newer,
        }
    }
}

/// Returns how many supervisors preceded the one that started the worker process of this rank.
fn depth_of(rank: u64) -> u32 {
    (rank >> DEPTH_SHIFT) as u32
}

/// Returns whether the channel has a message or is closed.
fn speaks(channel: &Channel) -> bool {
    let mut polled = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Returns the worker processes of this supervisor and of one side.
fn with<'a>(of_this: &[Own<'a>], side: &'a Side) -> Vec<Own<'a>> {
    of_this.iter().cloned().chain(own(&side.processes)).collect()
}

fn own<'a>(all: impl IntoIterator<Item = &'a Reachable>) -> Vec<Own<'a>> {
    all.into_iter().map(|it| (it.process.clone(), it.way_in.as_fd())).collect()
}

#[cfg(test)]
mod tests {
    use Standing::{Leaving, Serving};

    use super::*;
    use crate::inbox;

    fn process(number: u8) -> QuicProcess {
        QuicProcess { number, rank: 0, standing: Standing::Serving, listeners: vec![1] }
    }

    fn numbers(kin: &Kin) -> Vec<(u8, Standing)> {
        kin.processes().iter().map(|(process, _)| (process.number, process.standing)).collect()
    }

    #[test]
    fn each_of_three_knows_all_processes_and_numbers_are_not_given_twice() {
        let (to_second, second) = Channel::pair().expect("a pair");
        let (to_third, third) = Channel::pair().expect("a pair");
        let of_heir =
            |depth, stream| Kin::of_heir(depth, Channel::new(stream).expect("a channel"), Vec::new());
        let (mut first, mut second, mut third) = (Kin::default(), of_heir(1, second), of_heir(2, third));
        first.set_heir(Some(to_second));
        second.set_heir(Some(to_third));
        let inboxes = [(); 3].map(|()| inbox::make().expect("an inbox"));
        let of = |at: usize| vec![(process(at as u8), inboxes[at].0.as_fd())];
        first.tell(&of(0));
        second.hear(Age::Older);
        second.tell(&of(1));
        third.hear(Age::Older);
        third.tell(&of(2));
        second.hear(Age::Newer);
        second.tell(&of(1));
        first.hear(Age::Newer);
        first.hear(Age::Newer);
        assert_eq!(numbers(&first), [(1, Serving), (2, Serving)]);
        assert_eq!(numbers(&second), [(0, Serving), (2, Serving)]);
        assert_eq!(numbers(&third), [(1, Serving), (0, Serving)]);
        assert!(third.next_name(&[2]).1 > second.next_name(&[1]).1);
        for _ in 0..512 {
            assert!(third.next_name(&[2]).0 > 2);
        }
        // The second supervisor exits before the first.
        drop(second);
        third.hear(Age::Older);
        assert_eq!(numbers(&third), [(1, Leaving), (0, Leaving)]);
        let [_, gone, _] = inboxes;
        drop(gone);
        third.tell(&[]);
        assert_eq!(numbers(&third), [(0, Leaving)]);
    }

    #[test]
    fn process_known_through_departed_supervisor_is_remembered_after_its_exit() {
        let (to_second, second) = Channel::pair().expect("a pair");
        let mut first = Kin::default();
        first.set_heir(Some(to_second));
        let second = Channel::new(second).expect("a channel");
        let of = |number: u8| {
            let (way_in, inbox) = inbox::make().expect("an inbox");
            (QuicProcess { rank: u64::from(number) << DEPTH_SHIFT, ..process(number) }, way_in, inbox)
        };
        let (next, beyond) = (of(1), of(2));
        let told = [(next.0.clone(), next.1.as_fd()), (beyond.0.clone(), beyond.1.as_fd())];
        Processes::send(&second, None, &told).expect("a message");
        first.hear(Age::Newer);
        drop(second);
        first.hear(Age::Newer);
        drop(next);
        drop(beyond);
        first.tell(&[]);
        // The third supervisor may have started another, which reads the sockets.
        assert_eq!(numbers(&first), [(2, Leaving)]);
    }
}
