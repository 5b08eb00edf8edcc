//! Supervisors before and after this one that have the same sockets, and their worker processes that serve QUIC.
//!
//! ```text
//!   old supervisor <--channel--> this one <--channel--> new supervisor
//!        '- workers                 '- workers              '- workers: each is told of all, with the ways into their inboxes
//! ```
//!
//! What changes on one side is told to the other, so that each supervisor knows all that there are, though it speaks with its neighbours alone.

use std::os::fd::{AsFd, BorrowedFd};

use myriad_serve::{QuicProcess, Standing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::{Channel, Kind};
use crate::handover::Processes;
use crate::inbox::Reachable;

/// The place in a rank of how many supervisors there were before; below it, of how many worker processes the same one had started before.
const DEPTH_SHIFT: u32 = 32;

/// Worker process of this supervisor, with the way into its inbox.
type Own<'a> = (QuicProcess, BorrowedFd<'a>);

/// Supervisors that are older, or newer.
#[derive(Debug, Default)]
struct Side {
    /// Channel to the next one. None where there is none, or it has ended, or knows nothing of this.
    channel: Option<Channel>,
    /// Worker processes on this side.
    processes: Vec<Reachable>,
    /// What the next one was told last.
    told: Option<Vec<QuicProcess>>,
}

impl Side {
    /// Tells the next supervisor on this side of all that there are on the other, unless it knows: two that answer each other would never end.
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

/// Which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Older,
    Newer,
}

/// The other supervisors.
#[derive(Debug, Default)]
pub(super) struct Kin {
    /// How many supervisors there were before this one.
    depth: u32,
    /// How many worker processes this one has started.
    started: u32,
    older: Side,
    newer: Side,
}

impl Kin {
    /// The kin of a process that an older supervisor started.
    pub(super) fn of_heir(depth: u32, channel: Channel, older: Vec<Reachable>) -> Self {
        let older = Side { channel: Some(channel), processes: older, told: None };
        Self { depth, older, ..Self::default() }
    }

    /// How many supervisors there were before the next.
    pub(super) fn next_depth(&self) -> u32 {
        self.depth.saturating_add(1)
    }

    /// Number and rank of the next worker process. The number is none of those that live; the first follows from the number of this process, so
    /// that what an earlier server's connections name is most likely nobody's.
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

    /// The worker processes of the other supervisors.
    pub(super) fn processes(&self) -> Vec<Own<'_>> {
        own(self.others())
    }

    /// What the next supervisor is to know before it starts a worker process.
    pub(super) fn for_heir<'a>(&'a self, of_this: Vec<Own<'a>>) -> Vec<Own<'a>> {
        of_this.into_iter().chain(own(&self.older.processes)).collect()
    }

    /// The channel to the next supervisor, which runs from now on; none where it has ended.
    pub(super) fn set_heir(&mut self, channel: Option<Channel>) {
        self.newer.channel = channel;
        self.newer.told = None;
        self.end_without_channel(Age::Newer);
    }

    /// Open channels.
    pub(super) fn channels(&self) -> impl Iterator<Item = (Age, &Channel)> {
        let sides = [(Age::Older, &self.older), (Age::Newer, &self.newer)];
        sides.into_iter().filter_map(|(age, side)| Some((age, side.channel.as_ref()?)))
    }

    /// Receives what has been said by now.
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

    /// Tells the neighbours what there is on this side of them.
    pub(super) fn tell(&mut self, of_this: &[Own<'_>]) {
        self.older.processes.retain(Reachable::lives);
        // Beyond the next supervisor there may be others in the place of one that has ended, of which that supervisor alone would tell: if it
        // has gone, a process that leaves would believe that nobody reads the sockets any more.
        let next = self.next_depth();
        self.newer.processes.retain(|it| it.lives() || depth_of(it.process.rank) > next);
        self.older.tell(&with(of_this, &self.newer));
        self.newer.tell(&with(of_this, &self.older));
        self.end_without_channel(Age::Older);
        self.end_without_channel(Age::Newer);
    }

    /// A supervisor has ended, so that its worker processes finish what is under way. They are forgotten once they have ended, too.
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

/// How many supervisors there were before that of a worker process with this rank.
fn depth_of(rank: u64) -> u32 {
    (rank >> DEPTH_SHIFT) as u32
}

/// Whether there is a message, or the end of the channel.
fn speaks(channel: &Channel) -> bool {
    let mut polled = [PollFd::new(channel, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Worker processes of this supervisor and of one side.
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
        // The one in the middle ends before the first.
        drop(second);
        third.hear(Age::Older);
        assert_eq!(numbers(&third), [(1, Leaving), (0, Leaving)]);
        let [_, gone, _] = inboxes;
        drop(gone);
        third.tell(&[]);
        assert_eq!(numbers(&third), [(0, Leaving)]);
    }

    #[test]
    fn a_process_beyond_a_supervisor_that_has_gone_is_not_forgotten_once_it_has_ended() {
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
